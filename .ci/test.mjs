// Everything `npm test` promises, from a clone with nothing installed: install, type-check, lint, tests, package check.
import { bin, installBrowserIfMissing, installIfMissing, run } from './install.mjs'

installIfMissing()
installBrowserIfMissing()
run('types', bin('tsc'), '--noEmit')
run('types of the inspector page', bin('tsc'), '--noEmit', '-p', 'tsconfig.page.json')
run('types of a page of the tests', bin('tsc'), '--noEmit', '-p', 'test/ui/page')
run('lint', bin('biome'), 'check', '.')
run('build', bin('tsup'), '--silent')
run('tests', bin('vitest'), 'run', ...process.argv.slice(2))
// It was built above: packing it must not build it again.
process.env.npm_config_ignore_scripts = 'true'
run('package', bin('publint'), '--strict')
run('package types', bin('attw'), '--pack', '.', '--profile', 'node16')
