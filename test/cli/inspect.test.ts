import { expect, it } from 'vitest'
import { listen } from '../inspector/watching.ts'
import { askSimulator, ended, seen, start, statewire } from './spawned.ts'
import { owning } from './storedRuns.ts'

const address = /Inspector: (http:\/\/127\.0\.0\.1:\d+\/\S*)/

it('shows the address, each state, the calls and the text, and ends with the run', async () => {
  const { code, stdout, stderr } = await statewire(['inspect', ...(await askSimulator()), 'What is 6*7?'])
  expect(stdout).toMatch(address)
  const lines = stdout.split('\n')
  expect(lines.slice(1, 11)).toEqual([
    'Model: openai:simulator (--model)',
    '',
    '> What is 6*7?',
    '',
    '  · MessageReset',
    '  · Accumulating.Requesting',
    '  · Accumulating.Streaming',
    'Let me look that up.',
    '  · Consolidating',
    '  · ToolCheck',
  ])
  expect(lines).toContain('  · calculator → 6*7 = 42')
  expect(lines).toContain('6*7 = 42. (Said by a simulator, from what the tools answered.)')
  expect(stdout).toMatch(
    /\n {2}· Complete\n\ncomplete, \d+ tokens in, \d+ out\nThe inspector closes with the run; --keep leaves it open.\n$/,
  )
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
})

it('stays open with --keep until Ctrl-C', async () => {
  const child = start(['inspect', '--keep', ...(await askSimulator()), 'Count to 3'], { input: '' })
  const end = ended(child)
  const shown = await seen(child.stdout, /stays open/)
  const page = await fetch(address.exec(shown)?.[1] ?? '')
  expect(page.status).toBe(200)
  await page.text()
  child.kill('SIGINT')
  expect((await end).code).toBe(0)
})

it('leaves at once when the run itself is interrupted', async () => {
  const child = start(['inspect', '--keep', ...(await askSimulator(100)), 'Count to 500'], { input: '' })
  const end = ended(child)
  await seen(child.stdout, /1 2 3/)
  child.kill('SIGINT')
  const { code, stdout } = await end
  expect(stdout).toContain('  · Aborted\n')
  expect(code).toBe(130)
})

it('shows the runs of a file with --db, and runs none of them', async () => {
  const { cwd, runs } = await owning([
    [{ toolCall: { id: 'c1', name: 'remove', arguments: { path: 'a.txt' } } }],
  ])
  await (await runs.start('janitor', 'Remove a.txt', { id: 'job' })).result
  await runs.close()
  const child = start(['inspect', '--db', 'runs.db'], { cwd })
  const end = ended(child)
  const url = address.exec(await seen(child.stdout, /Inspector: \S+\n/))?.[1] ?? ''
  const page = await listen({ url })
  await page.until(({ tools }) => tools.get('c1')?.status === 'pending')
  expect([...page.actors.values()]).toMatchObject([{ run: 'job', status: 'waiting', title: 'Remove a.txt' }])
  child.kill('SIGINT')
  expect((await end).code).toBe(0)
  const [missing, prompt] = [
    await statewire(['inspect', '--db', 'none.db'], { cwd }),
    await statewire(['inspect', '--db', 'runs.db', 'Hi'], { cwd }),
  ]
  expect([missing.code, prompt.code]).toEqual([2, 2])
  expect(missing.stderr).toContain('There is no file none.db')
  expect(prompt.stderr).toContain('With --db there is no prompt')
})
