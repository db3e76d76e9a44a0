// Runs the tests on every Node that the package supports, one after the other, and prints what each one said.
// The arguments go to vitest: npm run test:nodes -- test/transport
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { delimiter, dirname, resolve } from 'node:path'
import { prepareBrowser } from './browser.mjs'
import { bin, installIfMissing, run } from './run.mjs'

const majors = [20, 22, 24]
const cache = resolve('node_modules/.cache/statewire')

/** The package with nothing but the binary: it needs no install script. */
const binaryPackage = () => {
  const platform = process.platform === 'win32' ? 'win' : process.platform
  return `${platform === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node'}-${platform}-${process.arch}`
}

/** The newest release of a major, kept with the other packages. */
const fetchNode = (major) => {
  const home = `${cache}/node-${major}`
  mkdirSync(home, { recursive: true })
  const name = binaryPackage()
  const options = ['--no-save', '--no-audit', '--no-fund', '--prefix', home]
  run(`Node ${major}`, 'npm', 'install', `${name}@${major}`, ...options)
  const { bin: binaries } = JSON.parse(readFileSync(`${home}/node_modules/${name}/package.json`, 'utf8'))
  return `${home}/node_modules/${name}/${binaries.node}`
}

const testWith = (node) => {
  const report = `${cache}/report.json`
  rmSync(report, { force: true })
  const args = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  // Tests that start programs of their own find the same Node on the path.
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` }
  const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim()
  console.log(`\n— tests on ${version}`)
  const { status } = spawnSync(node, [bin('vitest'), ...args, ...process.argv.slice(2)], {
    stdio: 'inherit',
    env,
  })
  return { version, status, ...(existsSync(report) && JSON.parse(readFileSync(report, 'utf8'))) }
}

const summary = ({ version, status, numPassedTests = 0, numPendingTests = 0, testResults = [] }) => {
  const broken = testResults.filter((file) => file.status === 'failed')
  const failed = broken.flatMap(({ name, message, assertionResults }) => {
    const tests = assertionResults.filter((test) => test.status === 'failed').map((test) => test.fullName)
    return (tests.length > 0 ? tests : [message]).map((text) => `  ${name}: ${text}`)
  })
  const verdict = status === 0 ? 'passed' : 'FAILED'
  const counts = `${numPassedTests} tests passed, ${failed.length} failed, ${numPendingTests} skipped`
  return [`${version}: ${verdict} (${counts})`, ...failed].join('\n')
}

installIfMissing()
prepareBrowser()
run('build', bin('tsup'), '--silent')
run('build for XState 6', process.execPath, 'scripts/xstate6.mjs')
const results = majors.map((major) => testWith(fetchNode(major)))
console.log(`\n${results.map(summary).join('\n')}`)
if (results.some(({ status }) => status !== 0)) process.exitCode = 1
