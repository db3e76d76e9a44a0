import fc from 'fast-check'

// A mutant is tried by many tests: few runs of each property will do, and always the same ones.
fc.configureGlobal({ numRuns: 30, seed: 1 })
