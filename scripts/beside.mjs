// Runs programs beside each other. What each one prints is shown when it has ended, so that the lines do not mix.
import { spawn } from 'node:child_process'

const running = new Set()
// Each leads a group, so that what it has started ends with it.
process.on('exit', () => {
  for (const { pid } of running) {
    try {
      process.kill(-pid)
    } catch {
      // It has just ended by itself.
    }
  }
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

/** Runs a command to its end, and returns what it wrote to stdout; ends this process when it fails. */
export const runBeside = (title, command, ...args) =>
  new Promise((resolve) => {
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
