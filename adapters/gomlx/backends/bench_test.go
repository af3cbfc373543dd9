package backends_test

import "testing"

// A step of each program, small.
func BenchmarkPrograms(b *testing.B) {
	for _, p := range programs {
		for _, on := range []string{"go", "restride"} {
			b.Run(p.name+"/"+on, func(b *testing.B) {
				by := reference(b)
				if on == "restride" {
					by = unchecked(b)
				}
				step := once(b, by, p, 1)
				step()
				b.ReportAllocs()
				b.ResetTimer()
				for b.Loop() {
					step()
				}
			})
		}
	}
}
