package kernels

var MagicOf = magicOf
