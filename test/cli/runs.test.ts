// The command line as another process than the one that runs the runs, on the same file.
import { readFileSync, writeFileSync } from 'node:fs'
import { cp, mkdir, symlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { startSimulator } from '../../src/simulator/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { folder, seen, start, statewire } from './spawned.ts'
import { ownerProcess, owning, removal } from './storedRuns.ts'

const askToRemove = [
  { text: 'Let me see.' },
  { toolCall: { id: 'c1', name: 'remove', arguments: { path: 'a.txt' } } },
]

describe('statewire runs', () => {
  it('lists the newest runs first, in a table and as JSON', async () => {
    const { cwd, runs } = await owning(['Hello.', askToRemove])
    await (await runs.start('janitor', 'Say hello\u001b[2J,\nplease', { id: 'first' })).result
    await (await runs.start('janitor', 'Remove a.txt', { id: 'second' })).result
    const { stdout, code } = await statewire(['runs'], { cwd })
    const [head, ...rows] = stdout.trimEnd().split('\n')
    expect(head).toMatch(/^ID +AGENT +STATUS +STATE +STEP +AGE +PROMPT$/)
    expect(rows).toEqual([
      expect.stringMatching(/^second +janitor +waiting +AwaitingApproval +1 +\d+ s +Remove a\.txt$/),
      expect.stringMatching(/^first +janitor +complete +Complete +1 +\d+ s +Say hello\[2J, please$/),
    ])
    expect(code).toBe(0)
    const json = await statewire(['runs', 'list', '--json', '--status', 'waiting', '--db', 'runs.db'], {
      cwd,
    })
    expect(
      json.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([{ id: 'second', status: 'waiting', pending: [{ id: 'c1', name: 'remove' }] }])
    const none = await statewire(['runs', '--agent', 'nobody'], { cwd })
    expect([none.stdout, none.stderr]).toEqual(['', 'There are no such runs.\n'])
    expect((await statewire(['runs', '--limit', '1'], { cwd })).stdout).not.toContain('first')
  })

  it('shows the status of a run, its conversation, and what it waits for', async () => {
    const { cwd, runs } = await owning([askToRemove, 'Removed it.'])
    const run = await runs.start('janitor', 'Remove a.txt', { id: 'job 7' })
    await run.result
    const waiting = await statewire(['runs', 'show', 'job 7'], { cwd })
    expect(waiting.stdout).toContain(
      '> Remove a.txt\n\nLet me see.\n\n  · remove(path: a.txt)\n    (no result yet)',
    )
    expect(waiting.stdout).toContain(
      "It waits for:\n  ? remove(path: a.txt)\n      statewire runs approve 'job 7' c1\n      statewire runs reject 'job 7' c1",
    )
    await runs.send('job 7', { type: 'tool.approve', callId: 'c1' })
    await run.result
    const over = await statewire(['runs', 'show', 'job 7'], { cwd })
    expect(over.stdout).toMatch(/^status +complete$/m)
    expect(over.stdout).toContain('  · remove(path: a.txt)\n    → removed a.txt\n\nRemoved it.\n')
    const { messages, ...info } = JSON.parse(
      (await statewire(['runs', 'show', 'job 7', '--json'], { cwd })).stdout,
    )
    expect(info).toMatchObject({ id: 'job 7', agent: 'janitor', status: 'complete', step: 2 })
    expect(messages).toEqual((await run.result).messages)
  })

  it('shows the background agents of a run as a tree', async () => {
    const ask = { toolCall: { id: 'c1', name: 'remove', arguments: { path: 'a.txt' } } }
    const reader = new Agent(scriptedModel([[ask]]), { tools: [removal] })
    const read = reader.asTool({ name: 'read', description: 'Reads', background: true })
    const task = (id: string, name: string, prompt: string) => ({
      toolCall: { id, name, arguments: { prompt } },
    })
    const researcher = new Agent(scriptedModel([[task('r1', 'read', 'Read it')], 'I wait.']), {
      tools: [read],
    })
    const research = researcher.asTool({ name: 'research', description: 'R', background: true, maxTasks: 1 })
    const turns = [[task('t1', 'research', 'One\nof them'), task('t2', 'research', 'Another')], 'I wait.']
    const { cwd, runs } = await owning(turns, undefined, { tools: [research] })
    const run = await runs.start('janitor', 'Research', { id: 'job' })
    await run.result
    const rows = [
      /^├ t1 +research +waiting +AwaitingTasks +2 +\d+ s +One of them$/m,
      /^│ └ r1 +read +waiting +AwaitingApproval +1 +\d+ s +Read it$/m,
      /^└ t2 +research +queued +– +– +\d+ s +Another$/m,
    ]
    const [list, show, json] = await Promise.all([
      statewire(['runs'], { cwd }),
      statewire(['runs', 'show', 'job'], { cwd }),
      statewire(['runs', 'show', 'job', '--json'], { cwd }),
    ])
    expect(list.stdout).toMatch(/^job +janitor +waiting +AwaitingTasks/m)
    for (const row of rows) for (const { stdout } of [list, show]) expect(stdout).toMatch(row)
    expect(show.stdout).toContain('statewire runs approve job t1/r1/c1')
    expect(JSON.parse(json.stdout).tasks).toMatchObject([
      { id: 'job/t1', status: 'waiting', tasks: [{ id: 'job/t1/r1', status: 'waiting' }] },
      { id: 'job/t2', status: 'running', tasks: [] },
    ])
  })

  it('says why a run failed, also where the provider is not known here', async () => {
    const { cwd, runs } = await owning([
      [{ error: { message: 'out of order\u001b[2J', status: 404, provider: 'ours' } }],
    ])
    const run = await runs.start('janitor', 'Hi', { id: 'job' })
    await expect(run.result).rejects.toThrow('out of order')
    const { stdout, code } = await statewire(['runs', 'show', 'job'], { cwd })
    expect(stdout).toContain('ModelError: ours: out of order[2J (404)')
    expect(code).toBe(0)
    const streamed = await statewire(['runs', 'stream', 'job'], { cwd })
    expect([streamed.code, streamed.stderr]).toEqual([1, 'statewire: ours: out of order[2J (404)\n'])
  })

  it('streams up to a wait and says what to do; after the approval it reads on', async () => {
    const { cwd, runs } = await owning([askToRemove, 'Removed it.'])
    await (await runs.start('janitor', 'Remove a.txt', { id: 'job' })).result
    const first = await statewire(['runs', 'stream', 'job'], { cwd })
    expect([first.code, first.stdout]).toEqual([0, 'Let me see.\n'])
    expect(first.stderr).toContain('statewire runs approve job c1')
    const cursor = /--after (\S+)/.exec(first.stderr)?.[1] ?? ''
    const approved = await statewire(['runs', 'approve', 'job'], { cwd })
    expect(approved).toEqual({ code: 0, stdout: 'approved: remove(path: a.txt)\n', stderr: '' })
    const second = await statewire(['runs', 'stream', 'job', '--after', cursor], { cwd })
    expect([second.code, second.stdout]).toEqual([0, '\nRemoved it.\n'])
    const whole = await statewire(['runs', 'stream', 'job'], { cwd })
    expect(whole.stdout).toBe('Let me see.\nRemoved it.\n')
    const json = await statewire(['runs', 'stream', 'job', '--json'], { cwd })
    const chunks = json.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(chunks.map(({ output }) => output).join('')).toBe('Let me see.\nRemoved it.')
    expect(chunks.find(({ pendingApproval }) => pendingApproval)?.cursor).toBe(cursor)
  })

  it('leaves a run alone when its reader leaves', async () => {
    const { cwd, runs } = await owning([[{ text: 'One ' }, { text: 'two ' }, { hang: true }]])
    await runs.start('janitor', 'Count', { id: 'job' })
    const reader = start(['runs', 'stream', 'job'], { cwd })
    const stderr = seen(reader.stderr, /Read on with: .* --after/)
    await seen(reader.stdout, /One two /)
    reader.kill('SIGINT')
    expect(await stderr).toContain('The run continues in the background.')
    expect((await runs.list())[0]).toMatchObject({ id: 'job', status: 'running' })
  })

  it('names the calls when several wait, and rejects one with a reason that the model sees', async () => {
    const { cwd, runs, model } = await owning([
      [
        { toolCall: { id: 'c1', name: 'remove', arguments: { path: 'a.txt' } } },
        { toolCall: { id: 'c2', name: 'remove', arguments: { path: 'b.txt' } } },
      ],
      'As you wish.',
    ])
    const run = await runs.start('janitor', 'Remove both', { id: 'job' })
    await run.result
    const unclear = await statewire(['runs', 'approve', 'job'], { cwd })
    expect(unclear.code).toBe(2)
    expect(unclear.stderr).toContain(
      'Which call? These wait:\n  c1  remove(path: a.txt)\n  c2  remove(path: b.txt)',
    )
    expect((await statewire(['runs', 'approve', 'job', 'c1'], { cwd })).code).toBe(0)
    const rejected = await statewire(['runs', 'reject', 'job', 'c2', '--reason', 'still needed'], { cwd })
    expect(rejected.stdout).toBe('rejected: remove(path: b.txt)\n')
    expect((await run.result).output).toBe('As you wish.')
    expect(JSON.stringify(model.requests[1]?.messages)).toContain('still needed')
    const late = await statewire(['runs', 'approve', 'job'], { cwd })
    expect([late.code, late.stderr]).toEqual([
      2,
      'statewire: The run "job" (complete) does not wait for such a decision. Nothing waits.\n',
    ])
  })

  it('answers calls from outside, steers and aborts', async () => {
    const { cwd, runs, model } = await owning([
      [{ toolCall: { id: 'c1', name: 'lookup' } }],
      [{ toolCall: { id: 'c2', name: 'lookup' } }],
    ])
    const run = await runs.start('janitor', 'Look it up', { id: 'job' })
    await run.result
    expect((await statewire(['runs', 'steer', 'job', 'Be', 'brief.'], { cwd })).stdout).toBe('steered: job\n')
    const answered = await statewire(['runs', 'answer', 'job', 'c1', '-'], { cwd, input: 'forty-two' })
    expect(answered.stdout).toBe('answered: lookup()\n')
    expect((await run.result).pendingApproval?.calls[0].id).toBe('c2')
    const asked = JSON.stringify(model.requests[1]?.messages)
    expect(asked).toContain('forty-two')
    expect(asked).toContain('Be brief.')
    const aborted = await statewire(['runs', 'abort', 'job', '--reason', 'enough'], { cwd })
    expect(aborted.stdout).toBe('aborting: job\n')
    await expect(run.result).rejects.toThrow('enough')
    expect((await statewire(['runs', 'stream', 'job'], { cwd })).code).toBe(130)
  })

  it('forks from a model call, and prunes what is over', async () => {
    const { cwd, runs } = await owning(['One.', 'Two.'])
    await (await runs.start('janitor', 'A number', { id: 'job' })).result
    const forked = await statewire(['runs', 'fork', 'job', '--at-step', '1', '--id', 'again'], { cwd })
    expect(forked).toEqual({ code: 0, stdout: 'again\n', stderr: '' })
    expect((await (await runs.get('again'))?.result)?.output).toBe('Two.')
    const refused = await statewire(['runs', 'prune', '--older-than', '0m'], { cwd })
    expect([refused.code, refused.stderr]).toEqual([
      2,
      'statewire: This deletes runs, and there is no terminal to confirm it: add --yes.\n',
    ])
    const kept = await statewire(['runs', 'prune', '--older-than', '1d', '--yes'], { cwd })
    expect(kept.stdout).toBe('0 deleted\n')
    const deleted = await statewire(['runs', 'prune', '--older-than', '0m', '--yes'], { cwd })
    expect(deleted.stdout).toBe('2 deleted\n')
    expect(await runs.list()).toEqual([])
  })

  it('refuses what it does not know', async () => {
    const { cwd } = await owning([])
    writeFileSync(join(cwd, 'notes.txt'), 'Nothing but words. '.repeat(100))
    writeFileSync(join(cwd, 'empty.db'), '')
    const problems = [
      [['shwo'], 'There is no "runs shwo". Did you mean "show"?'],
      [['show'], 'Name a run: statewire runs lists their ids.'],
      [['show', 'x'], 'There is no run "x". statewire runs lists the runs.'],
      [['show', 'x', '--limit', '3'], '"runs show" has no --limit.'],
      [['--status', 'done'], '"done" is not a status: use running, waiting,'],
      [['--limit', '0'], '"0" is not a limit'],
      [['stream', 'x', '--after', 'y'], 'There is no run "x"'],
      [['prune', '--yes'], 'Say how old the runs must be. For example: --older-than 30d'],
      [['prune', '--yes', '--older-than', 'long'], '"long" is not a time: write 30d'],
      [['--db', 'none.db'], 'There is no file none.db: name the file of the runs with --db.'],
      [['--db', '.'], '. is not a file of runs.'],
      [['--db', 'empty.db'], 'empty.db is not a file of runs.'],
      [['--db', 'notes.txt'], `"${join(cwd, 'notes.txt')}" is not an SQLite database: give another path.`],
    ] as const
    for (const [words, message] of problems) {
      const { code, stdout, stderr } = await statewire(['runs', ...words], { cwd })
      expect(stderr).toContain(`statewire: ${message}`)
      expect([code, stdout]).toEqual([2, ''])
    }
    expect(readFileSync(join(cwd, 'empty.db'), 'utf8')).toBe('')
  })
})

describe('When no program runs the agents', () => {
  it('a decision waits in the file for the next program, which acts on it once', async () => {
    const { baseUrl, close } = await startSimulator()
    const cwd = await folder()
    const file = join(cwd, 'runs.db')
    const first = await ownerProcess(file, baseUrl, 'job', 'Please delete the file notes.txt.')
    const { code } = await statewire(['runs', 'stream', 'job'], { cwd })
    expect(code).toBe(0)
    await first.kill()
    const approved = await statewire(['runs', 'approve', 'job'], { cwd })
    expect([approved.code, approved.stdout]).toEqual([0, 'approved: delete_file(path: notes.txt)\n'])
    expect(approved.stderr).toContain('No program is running these agents now. Your decision is stored')
    const again = await statewire(['runs', 'approve', 'job'], { cwd })
    expect(again.code).toBe(2)
    await ownerProcess(file, baseUrl)
    const whole = await statewire(['runs', 'stream', 'job'], { cwd })
    expect(whole.stdout).toContain('notes.txt is deleted')
    expect(readFileSync(`${file}.deleted`, 'utf8')).toBe('notes.txt\n')
    await close()
  })

  it('a reader sees the answer start over after a kill, and reads it to its end', async () => {
    const [slow, fast] = [await startSimulator({ delayMs: 500 }), await startSimulator()]
    const cwd = await folder()
    const file = join(cwd, 'runs.db')
    const first = await ownerProcess(file, slow.baseUrl, 'job', 'Count to 300')
    const reader = start(['runs', 'stream', 'job'], { cwd })
    const restarted = seen(reader.stderr, /starts over/)
    const text = seen(reader.stdout, /298 299 300/)
    await seen(reader.stdout, /1 2 3 4/)
    await first.kill()
    await ownerProcess(file, fast.baseUrl)
    await restarted
    const shown = await text
    expect(shown.slice(shown.lastIndexOf('\n1 2 3 4')).trim()).toBe(
      Array.from({ length: 300 }, (_, at) => at + 1).join(' '),
    )
    await Promise.all([slow.close(), fast.close()])
  })
})

const hasOwnSqlite = process.getBuiltinModule?.('node:sqlite') !== undefined

it.skipIf(hasOwnSqlite)('says which drivers there are where there is none', async () => {
  const { cwd, runs } = await owning([])
  await runs.close()
  const elsewhere = await folder()
  await cp('dist', join(elsewhere, 'dist'), { recursive: true })
  await cp('package.json', join(elsewhere, 'package.json'))
  await mkdir(join(elsewhere, 'node_modules'))
  for (const name of ['xstate', 'zod', 'undici', 'eventsource-parser', '@cfworker'])
    await symlink(resolve('node_modules', name), join(elsewhere, 'node_modules', name))
  const { code, stderr } = await statewire(['runs'], { cwd, binary: join(elsewhere, 'dist/cli.js') })
  expect(stderr).toContain('There is no SQLite driver.')
  expect(stderr).toContain('npm install libsql')
  expect(code).toBe(2)
})
