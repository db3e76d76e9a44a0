import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { toolResultsOf } from '../../src/messages/messages.ts'
import type { ChatResult } from '../../src/messages/result.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { buildScripts } from '../buildScripts.ts'

let script = ''

beforeAll(async () => {
  ;({ approvalProcess: script } = await buildScripts('approval', {
    approvalProcess: 'test/orchestrators/approvalProcess.ts',
  }))
}, 180_000)

/** Everything a process printed until it said this. */
const printed = async (child: ChildProcess, word: string): Promise<void> => {
  let output = ''
  for await (const piece of child.stdout ?? []) {
    output += piece
    if (output.includes(word)) return
  }
  throw new Error(`The process ended without "${word}": ${output}`)
}

const killedWhileAsking = async (kind: string, folder: string): Promise<void> => {
  const child = spawn(process.execPath, [script, 'ask', kind, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  await printed(child, 'stored')
  child.kill('SIGKILL')
  expect(await ended).toEqual([null, 'SIGKILL'])
}

const resumed = async (kind: string, folder: string, decisions: object): Promise<ChatResult> => {
  const args = [script, 'resume', kind, folder, JSON.stringify(decisions)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}

test.each(['agent', 'actor', 'reasoning'])(
  'a process that dies while three approvals are pending loses nothing: %s',
  async (kind) => {
    const folder = mkdtempSync(join(tmpdir(), 'statewire-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    await killedWhileAsking(kind, folder)
    expect(existsSync(join(folder, 'ran.log'))).toBe(false)
    const { output, messages } = await resumed(kind, folder, { c: true, b: false, a: true })
    expect(readFileSync(join(folder, 'ran.log'), 'utf8')).toBe('a\nc\n')
    expect(output).toBe('Done.')
    expect(messages.flatMap(toolResultsOf)).toMatchObject([
      { id: 'a', result: 'wiped a' },
      { id: 'b', isError: true },
      { id: 'c', result: 'wiped c' },
    ])
    expect(validateHistory(messages)).toEqual([])
  },
)
