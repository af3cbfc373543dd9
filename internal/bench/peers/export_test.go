package peers

// Fake starts a fake library: see fakes.
var Fake = fake

// Waited reports whether the process was waited for.
func (p *Process) Waited() bool { return p.cmd.ProcessState != nil }
