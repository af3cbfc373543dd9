package checkpoint_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/layout"
)

// A file is written tensor by tensor, in any order, and read by pieces.
func Example() {
	dir, err := os.MkdirTemp("", "checkpoint")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	if err := write(path); err != nil {
		log.Fatal(err)
	}

	c, err := checkpoint.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for _, t := range c.Tensors {
		fmt.Println(t.Name, t.Type, t.Dims, t.Size(), "bytes")
	}
	by, _ := c.Files[0].Value("made.by")
	fmt.Println("made.by =", by)
	part := make([]byte, 2)
	if _, err := c.Lookup("codes").ReadAt(part, 3); err != nil {
		log.Fatal(err)
	}
	fmt.Println(part)
	// Output:
	// scales F16 [2] 4 bytes
	// codes U8 [2 4] 8 bytes
	// made.by = "an example"
	// [3 4]
}

func write(path string) error {
	u8, err := checkpoint.Safetensors.Type("U8")
	if err != nil {
		return err
	}
	f16, err := checkpoint.Safetensors.TypeOf(layout.Float16)
	if err != nil {
		return err
	}
	w, err := checkpoint.Create(path, checkpoint.Header{
		Format:   checkpoint.Safetensors,
		Metadata: []checkpoint.Entry{{Key: "made.by", Value: checkpoint.ValueOf("an example")}},
		Tensors: []*checkpoint.Tensor{
			{Name: "codes", Type: u8, Dims: []int64{2, 4}},
			{Name: "scales", Type: f16, Dims: []int64{2}},
		},
	}, "")
	if err != nil {
		return err
	}
	defer w.Close()
	contents := map[string][]byte{"codes": {0, 1, 2, 3, 4, 5, 6, 7}, "scales": {0, 0x3c, 0, 0x40}}
	for i, t := range w.Tensors {
		if err := w.WriteAt(i, contents[t.Name], 0); err != nil {
			return err
		}
		if err := w.Finish(i); err != nil {
			return err
		}
	}
	return w.Commit()
}
