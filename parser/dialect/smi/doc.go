// Package smi reads the output of the tools of GPU drivers: the tables, queries and CSV of
// nvidia-smi, its dmon, gpustat and rocm-smi.
package smi
