// copy: elements of element.h as they are.

#define SETUP GLOBAL const WORD *RESTRICT from = (GLOBAL const WORD *)src;
#define LOADED WORD
#define LOAD(at) from[at]
#define CONVERT(x) x
