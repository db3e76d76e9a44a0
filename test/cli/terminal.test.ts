// What a person sees: the command line in a pseudo-terminal.
import { readFileSync, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loopback } from '../loopback.ts'
import { askSimulator, folder } from './spawned.ts'
import { ctrlC, ctrlD, ctrlU, hasScript, Terminal } from './Terminal.ts'

describe.skipIf(!hasScript)('at a terminal', () => {
  it('Ctrl-C ends a running answer, and the conversation goes on; at the prompt it leaves', async () => {
    const chat = new Terminal(['chat', ...(await askSimulator(100))])
    await chat.sees(/> $/)
    chat.types('Count to 500\r')
    await chat.sees(/1 2 3 /)
    chat.types(ctrlC)
    await chat.sees(/aborted[\s\S]*> $/)
    chat.types('My name is Ada\r')
    await chat.sees(/fits “My name is Ada”\.[\s\S]*> $/)
    chat.types(ctrlC)
    expect(await chat.code).toBe(0)
  })

  it('asks before a tool that needs an approval, one call at a time, and Ctrl-D leaves', async () => {
    const cwd = await folder()
    await writeFile(join(cwd, 'a.txt'), 'First secret.')
    await writeFile(join(cwd, 'b.txt'), 'Second secret.')
    const chat = new Terminal(['chat', ...(await askSimulator())], { cwd })
    await chat.sees(/> $/)
    chat.types('Read a.txt and b.txt\r')
    await chat.sees(/Allow read_file\(path: a\.txt\)\? \[yes\/no\/edit\/always\] $/)
    chat.types('y\r')
    await chat.sees(/Allow read_file\(path: b\.txt\)\? \[yes\/no\/edit\/always\] $/)
    // No other key is a no.
    chat.types('x\r')
    await chat.sees(
      /Type yes, no, no and a reason, edit [\s\S]*Allow read_file\(path: b\.txt\)\? \[yes\/no\/edit\/always\] $/,
    )
    chat.types('\r')
    await chat.sees(/Type yes[\s\S]*Allow read_file\(path: b\.txt\)\? \[yes\/no\/edit\/always\] $/)
    chat.types('n\r')
    await chat.sees(/Why not\? $/)
    chat.types('it is private\r')
    await chat.sees(/First secret\.[\s\S]*did not allow it: it is private[\s\S]*> $/)
    expect(chat.screen).not.toContain('Second secret.')
    chat.types(ctrlD)
    expect(await chat.code).toBe(0)
  })

  it('runs a call with other arguments, or all calls of a tool', async () => {
    const cwd = await folder()
    await writeFile(join(cwd, 'a.txt'), 'First secret.')
    await writeFile(join(cwd, 'b.txt'), 'Second secret.')
    const chat = new Terminal(['chat', ...(await askSimulator())], { cwd })
    await chat.sees(/> $/)
    chat.types('Read a.txt\r')
    await chat.sees(/Allow read_file\(path: a\.txt\)\? \[yes\/no\/edit\/always\] $/)
    chat.types('edit\r')
    await chat.sees(/Arguments: \{"path":"a\.txt"\}$/)
    chat.types(' oops\r')
    await chat.sees(/An empty line leaves them as they were\.[\s\S]*Arguments: \{"path":"a\.txt"\} oops$/)
    chat.types(`${ctrlU}{"path":"b.txt"}\r`)
    // The simulator calls what the note on the change names.
    await chat.sees(/Allow read_file\(path: b\.txt\)\? \[yes\/no\/edit\/always\] $/)
    chat.types('always\r')
    await chat.sees(/Second secret\.[\s\S]*> $/)
    chat.types('Read a.txt and b.txt\r')
    await chat.sees(/Allow read_file\(path: a\.txt\)\? \[yes\/no\/edit\/always\] $/)
    chat.types('always\r')
    await chat.sees(/First secret\.[\s\S]*Second secret\.[\s\S]*> $/)
    chat.types(ctrlD)
    expect(await chat.code).toBe(0)
  })

  it('takes nothing that was typed before a question for an answer to it', async () => {
    const cwd = await folder()
    await writeFile(join(cwd, 'a.txt'), 'First secret.')
    await writeFile(join(cwd, 'b.txt'), 'Second secret.')
    const chat = new Terminal(['chat', ...(await askSimulator())], { cwd })
    await chat.sees(/> $/)
    chat.types('Read a.txt and b.txt\ry\ry\ry')
    await chat.sees(/Allow read_file\(path: a\.txt\)\? \[yes\/no\/edit\/always\] $/)
    chat.types('n\rno\ry\r')
    await chat.sees(/Allow read_file\(path: b\.txt\)\? \[yes\/no\/edit\/always\] $/)
    chat.types('n\rno\r')
    await chat.sees(/did not allow it: no[\s\S]*did not allow it: no[\s\S]*> $/)
    expect(chat.screen).not.toMatch(/(First|Second) secret\./)
  })

  it('takes nothing that was typed while the model answered for an answer to a question', async () => {
    const cwd = await folder()
    await writeFile(join(cwd, 'a.txt'), 'First secret.')
    const call = { index: 0, id: 'c', function: { name: 'read_file', arguments: '{"path":"a.txt"}' } }
    const chunk = (delta: object, reason: string) =>
      `data: ${JSON.stringify({ choices: [{ delta, finish_reason: reason }] })}\n\ndata: [DONE]\n\n`
    let release = () => {}
    const isTyped = new Promise<void>((resolve) => {
      release = resolve
    })
    const { url, requests } = await loopback(async (_, nth) => {
      if (nth > 0) return { body: chunk({ content: 'Well.' }, 'stop') }
      await isTyped
      return { body: chunk({ tool_calls: [call] }, 'tool_calls') }
    })
    const chat = new Terminal(['chat', '--model', 'openai:x', '--base-url', url], { cwd })
    await chat.sees(/> $/)
    chat.types('Read a.txt\r')
    await expect.poll(() => requests.length).toBe(1)
    // The terminal itself shows what is typed now.
    chat.types('y\ry')
    await chat.sees(/y\s+y/)
    release()
    await chat.sees(/Allow read_file\(path: a\.txt\)\? \[yes\/no\/edit\/always\] $/)
    chat.types('n\rno\r')
    await chat.sees(/Well\.[\s\S]*> $/)
    expect(JSON.stringify(requests[1]?.body)).toContain('did not allow it: no')
  })

  it('keeps what was typed ahead for the next prompts', async () => {
    const chat = new Terminal(['chat', ...(await askSimulator())])
    await chat.sees(/> $/)
    chat.types('My name is Ada\rWhat is my name?\rCount to')
    await chat.sees(/said “My name is Ada”\.[\s\S]*> Count to$/)
    chat.types(' 4\r/exit\r')
    await chat.sees(/1 2 3 4/)
    expect(await chat.code).toBe(0)
  })

  it('shows what is queued while an answer streams, and asks it in its turn', async () => {
    const chat = new Terminal(['chat', ...(await askSimulator(100))])
    await chat.sees(/> $/)
    chat.types('Count to 60\r')
    await chat.sees(/1 2 3 /)
    chat.types('My name is Ada\r')
    await chat.sees(/· queued: My name is Ada/)
    chat.types('What is my name?\r')
    await chat.sees(/· queued: What is my name\?/)
    await chat.sees(
      /60[\s\S]*> My name is Ada[\s\S]*fits “My name is Ada”\.[\s\S]*> What is my name\?[\s\S]*> $/,
    )
    chat.types('Count to 500\r')
    await chat.sees(/1 2 3 /)
    chat.types('And again\r')
    await chat.sees(/· queued: And again/)
    chat.types(ctrlC)
    await chat.sees(/aborted[\s\S]*· not asked: And again[\s\S]*> $/)
    chat.types(ctrlD)
    expect(await chat.code).toBe(0)
  })

  it('takes what is pasted as one prompt, however many lines it has', async () => {
    const { url, requests } = await loopback(() => ({
      body: 'data: {"choices":[{"delta":{"content":"Well."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
    }))
    const chat = new Terminal(['chat', '--no-tools', '--model', 'openai:x', '--base-url', url])
    await chat.sees(/> $/)
    chat.types('\u001b[200~one\r  two\rthree\u001b[201~')
    await chat.sees(/three$/)
    chat.types(' four\r')
    await chat.sees(/Well\.[\s\S]*> $/)
    chat.types(ctrlD)
    expect(await chat.code).toBe(0)
    expect(requests.map(({ body }) => body.messages)).toEqual([
      [{ role: 'user', content: 'one\n  two\nthree four' }],
    ])
    // The terminal is left as it was.
    expect(chat.screen.lastIndexOf('[?2004l')).toBeGreaterThan(chat.screen.lastIndexOf('[?2004h'))
  })

  it('remembers what was typed in earlier chats, readable for its owner only', async () => {
    const file = join(await folder(), 'state/history')
    const args = ['chat', ...(await askSimulator())]
    const env = { STATEWIRE_HISTORY: file }
    const first = new Terminal(args, { env })
    await first.sees(/> $/)
    first.types('Count to 4\r')
    await first.sees(/1 2 3 4[\s\S]*> $/)
    first.types(ctrlD)
    await first.code
    expect(readFileSync(file, 'utf8')).toBe('Count to 4\n')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const second = new Terminal(args, { env })
    await second.sees(/> $/)
    second.types('\u001b[A\r')
    await second.sees(/1 2 3 4[\s\S]*> $/)
    second.types(ctrlD)
    expect(await second.code).toBe(0)
  })

  it('breaks lines between words, at the width of the terminal', async () => {
    const run = new Terminal(['run', '-q', ...(await askSimulator()), 'Count to 30'], { columns: 40 })
    expect(await run.code).toBe(0)
    const lines = run.screen.replaceAll('\r', '').trim().split('\n')
    expect(lines[0]).toBe('1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16')
    expect(lines.join(' ')).toMatch(/29 30$/)
  })

  it('shows states dimmed and thinking dimmed, unless NO_COLOR is set', async () => {
    const args = ['run', '--thinking', ...(await askSimulator()), 'What is 6*7?']
    const coloured = new Terminal(args)
    const plain = new Terminal(args, { env: { NO_COLOR: '1' } })
    expect([await coloured.code, await plain.code]).toEqual([0, 0])
    expect(coloured.screen).toContain('\u001b[2m  · Accumulating.Streaming\u001b[22m')
    expect(coloured.screen).toContain('\u001b[2mThe')
    expect(plain.screen).not.toContain('\u001b')
    const shown = plain.screen.replaceAll('\r', '')
    expect(shown).toContain('\nLet me look that up.\n  · Consolidating\n')
    expect(shown).toContain('  · Accumulating.Streaming\nThe user says')
    expect(shown).not.toContain('\n\n')
  })

  it('lets no control sequence of a model through to the terminal', async () => {
    const text = 'Say \u001b]0;owned\u0007 hello\u001b[2J \u202eolleh\u2066'
    const run = new Terminal(['run', ...(await askSimulator()), text])
    await run.sees(/hello/)
    expect(await run.code).toBe(0)
    expect(run.screen).not.toContain('\u001b]0;')
    expect(run.screen).not.toContain('\u001b[2J')
    // Nor those that would show a text in another order than it has.
    expect(run.screen).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/)
  })
})
