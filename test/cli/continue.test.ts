// The last conversation is kept, and `--continue` continues it.
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { askSimulator, folder, statewire } from './spawned.ts'
import { hasScript, Terminal } from './Terminal.ts'

const remembering = async () => {
  const state = await folder()
  return { state, env: { STATEWIRE_HISTORY: join(state, 'history') } }
}

describe('--continue', () => {
  it('continues the last conversation, of run and of chat alike', async () => {
    const { state, env } = await remembering()
    const model = await askSimulator()
    await statewire(['run', ...model, 'My name is Ada'], { env })
    const chat = await statewire(['chat', '-c', ...model], {
      env,
      input: 'What is my name?\nMy name is Bob\n',
    })
    expect(chat.stdout).toContain('Before that you said “My name is Ada”.')
    const run = await statewire(['run', '-c', ...model, 'What is my name?'], { env })
    expect(run).toMatchObject({ code: 0, stdout: expect.stringContaining('Bob') })
    expect(readdirSync(state)).toContain('conversation.json')
    expect(statSync(join(state, 'conversation.json')).mode & 0o777).toBe(0o600)
  })

  it('is left out by a new conversation, which takes the place of the last', async () => {
    const { env } = await remembering()
    const model = await askSimulator()
    await statewire(['run', ...model, 'My name is Ada'], { env })
    await statewire(['run', ...model, 'What is 1 + 1?'], { env })
    const { stdout } = await statewire(['run', '-c', ...model, 'What is my name?'], { env })
    expect(stdout).not.toContain('Ada')
  })

  it('says what to do where there is nothing to continue', async () => {
    const { state, env } = await remembering()
    const model = await askSimulator()
    const none = await statewire(['run', '-c', ...model, 'Hi'], { env })
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('leave --continue out') })
    const off = await statewire(['chat', '-c', ...model], { env: { STATEWIRE_HISTORY: '' } })
    expect(off).toMatchObject({ code: 2, stderr: expect.stringContaining('set STATEWIRE_HISTORY to a file') })
    writeFileSync(join(state, 'conversation.json'), '[{"role":"owner","parts":[]}]')
    const broken = await statewire(['run', '-c', ...model, 'Hi'], { env })
    expect(broken).toMatchObject({ code: 2, stderr: expect.stringContaining('is not a conversation') })
  })
})

describe.skipIf(!hasScript)('with the prompt in a pipe', () => {
  it('a person at the terminal is still asked for approvals', async () => {
    const cwd = await folder()
    await writeFile(join(cwd, 'a.txt'), 'First secret.')
    await writeFile(join(cwd, 'prompt.txt'), 'Read a.txt')
    const run = new Terminal(['run', ...(await askSimulator())], { cwd, piped: join(cwd, 'prompt.txt') })
    await run.sees(/Allow read_file\(path: a\.txt\)\? \[yes\/no\/edit\/always\] $/)
    run.types('y\r')
    await run.sees(/First secret\./)
    expect(await run.code).toBe(0)
  })
})
