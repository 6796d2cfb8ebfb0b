package meter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChoose(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "3,1")
	four := Machine{Driver: true, Count: 4, Visible: []int{3, 1}}
	for _, test := range []struct {
		text  string
		there Machine
		want  []int
		err   string
	}{
		{"0,1", Machine{}, []int{0, 1}, ""},
		{" 5, 2", Machine{}, []int{5, 2}, ""},
		{"all", four, []int{3, 1}, ""},
		{"1", four, []int{1}, ""},
		{"1,0", four, nil, "--gpus 1,0: expected GPUs that CUDA_VISIBLE_DEVICES=3,1 shows, found " +
			"0; choose others, or unset it"},
		{"4", four, nil, "--gpus 4: expected GPUs that the driver knows (4, counted from 0), " +
			"found 4"},
		{"0", Machine{Driver: true}, nil, "--gpus 0: expected GPUs that the driver knows (0, " +
			"counted from 0), found 0"},
		{
			"all",
			Machine{Driver: true, Count: 4},
			nil,
			"--gpus all: expected GPUs, found none that the driver knows and " +
				"CUDA_VISIBLE_DEVICES shows",
		},
		{
			"-1", four, nil,
			`--gpus -1: expected numbers of GPUs with commas between them, or all, found "-1"`,
		},
		{
			"99999",
			Machine{},
			nil,
			`--gpus 99999: expected numbers of GPUs with commas between them, or all, found "99999"`,
		},
	} {
		got, err := Choose(test.text, test.there)
		said := ""
		if err != nil {
			said, got = err.Error(), nil
		}
		if diff := cmp.Diff(test.want, got); diff != "" || said != test.err {
			t.Errorf("%s: found %v, %s", test.text, got, said)
		}
	}
}
