// Package smi reads what the tools of GPU drivers print: nvidia-smi's tables, queries and CSV,
// and the output of nvidia-smi dmon, gpustat and rocm-smi.
package smi
