// Package smi reads what the tools of GPU drivers print: the tables, queries and CSV of nvidia-smi, its
// dmon, gpustat and rocm-smi.
package smi
