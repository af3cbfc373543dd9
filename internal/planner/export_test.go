package planner

var MagicOf = magicOf

// Headers returns the headers of all kernels, each with the macros of one that includes it.
func Headers() map[string][]string {
	macros := map[string][]string{}
	for _, s := range Specs() {
		p := program{dialect: Host, included: map[string]bool{}}
		p.add(s)
		for header := range p.included {
			if macros[header] == nil {
				macros[header] = s.defines()
			}
		}
	}
	return macros
}
