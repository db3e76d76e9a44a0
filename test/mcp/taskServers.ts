import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { ownServer } from './servers.ts'

/** A server of tasks in a process of its own, which works until the test lets its tasks end. */
export const taskServer = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-tasks-'))
  const path = join(folder, 'log')
  const { command, args } = ownServer('taskServer.mjs', path)
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  const port = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (printed) => resolve(String(printed).trim()))
    child.once('exit', () => reject(new Error('The server did not start.')))
  })
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    /** The deeds of the server, in order. */
    log: () => (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []),
    letEnd: () => writeFileSync(`${path}.go`, ''),
  }
}
