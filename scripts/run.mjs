// Runs programs: npm, to install what the lock file says, and the tools that it installs.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

export const bin = (name) => `node_modules/.bin/${name}`

/** Runs a command with its output shown; ends this process when it fails. */
export const run = (title, command, ...args) => {
  console.log(`\n— ${title}`)
  const { status, signal, error } = spawnSync(command, args, { stdio: 'inherit' })
  if (status === 0) return
  console.error(`\n${title} failed${signal ? ` (${signal})` : ''}${error ? `: ${error.message}` : ''}.`)
  process.exit(status || 1)
}

const stamp = 'node_modules/.lock-installed'

/** Installs the packages of the lock file, once per lock file. */
export const installIfMissing = () => {
  const lock = readFileSync('package-lock.json', 'utf8')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return
  // Not `npm ci`: it refuses a lock file that lacks optional packages of platforms the registry does not carry.
  run('install', 'npm', 'install', '--no-save', '--no-audit', '--no-fund')
  writeFileSync(stamp, lock)
}

const running = new Set()
// Each program leads a group, so that what it has started ends with it.
process.on('exit', () => {
  for (const { pid } of running) {
    try {
      process.kill(-pid)
    } catch {
      // It has just ended by itself.
    }
  }
})

/**
 * Runs a command while others run, and returns what it wrote to stdout; ends this process when it fails. Its output is
 * shown when it has ended, so that the lines of several programs do not mix.
 */
export const runBeside = (title, command, ...args) =>
  new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'])
      if (process.listenerCount(signal) === 0) process.on(signal, () => process.exit(1))
    const began = Date.now()
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    if (child.pid) running.add(child)
    let stdout = ''
    let printed = ''
    child.stdout.on('data', (text) => {
      stdout += text
      printed += text
    })
    child.stderr.on('data', (text) => {
      printed += text
    })
    const fail = (why, code) => {
      console.log(`\n— ${title}\n${printed}`)
      console.error(`\n${title} failed${why}.`)
      process.exit(code || 1)
    }
    child.on('error', (error) => fail(`: ${error.message}`))
    child.on('close', (code, signal) => {
      running.delete(child)
      if (code !== 0) fail(signal ? ` (${signal})` : '', code)
      console.log(`— ${title}: ${Math.round((Date.now() - began) / 1000)} s`)
      resolve(stdout)
    })
  })
