// Stored runs in the inspector: the messages to the page, and its commands. The page itself is in storedPage.test.ts.
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import { startInspector } from '../../src/inspector/index.ts'
import { textOf } from '../../src/messages/messages.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { folder } from '../cli/spawned.ts'
import { owning, removal } from '../cli/storedRuns.ts'
import { command, inspecting, listen, momentOf, type PageFeed } from './watching.ts'

const asking = [
  { thinking: 'Which one?' },
  { text: 'Let me ' },
  { text: 'see.' },
  { toolCall: { id: 'c1', name: 'remove', arguments: { path: 'a.txt' } } },
  { usage: { inputTokens: 10, outputTokens: 5 } },
]

const guestOf = async (file: string) => {
  const runs = await openRuns({ store: sqlite(file) })
  onTestFinished(() => runs.close())
  return runs
}

const rowOf = (feed: PageFeed, run: string) => [...feed.actors.values()].find((row) => row.run === run)

it('lists stored runs, and shows the newest: its state, text, calls, tokens and data', async () => {
  const { file, runs } = await owning(['Hello.', asking])
  await (await runs.start('janitor', 'Say hello', { id: 'first' })).result
  await (await runs.start('janitor', 'Remove a.txt', { id: 'second' })).result
  const inspector = await inspecting({ runs: await guestOf(file) })
  const feed = await listen(inspector)
  await feed.until(({ text }) => text === 'Let me see.')
  expect(rowOf(feed, 'first')).toMatchObject({ status: 'done', state: 'Complete', title: 'Say hello' })
  expect(rowOf(feed, 'second')).toMatchObject({
    id: feed.watched,
    name: 'janitor',
    kind: 'agent',
    status: 'waiting',
    state: 'AwaitingApproval',
    canAbort: true,
    endedAt: null,
  })
  expect(feed.attempts).toMatchObject([{ step: 1, thinking: 'Which one?', startedAt: null, isVoid: false }])
  expect(feed.moments.at(-1)).toMatchObject({ states: ['agent', 'agent.AwaitingApproval'] })
  expect([...feed.tools.values()]).toMatchObject([
    { callId: 'c1', name: 'remove', arguments: { path: 'a.txt' }, status: 'pending', isInDoubt: false },
  ])
  expect(feed.messages.findLast(({ watched }) => watched?.usage)?.watched?.usage).toMatchObject({
    inputTokens: 10,
  })
  const past = await momentOf(inspector, feed.watched ?? 0, feed.moments.at(-1)?.seq ?? 0)
  expect(past).toMatchObject({ value: 'AwaitingApproval', context: { step: 1 }, tools: [{ callId: 'c1' }] })
  const chart = await fetch(`${inspector.url}chart?actor=${feed.watched}`)
  expect(await chart.text()).toContain('"id":"agent.AwaitingApproval"')
})

it('passes an approval on to the process that runs the run, and shows the result', async () => {
  const { file, runs } = await owning([asking, [{ text: 'Removed ' }, { text: 'it.' }]])
  const run = await runs.start('janitor', 'Remove a.txt', { id: 'job' })
  await run.result
  const inspector = await inspecting({ runs: await guestOf(file) })
  const feed = await listen(inspector)
  await feed.until(({ tools }) => tools.get('c1')?.status === 'pending')
  const response = await command(inspector, { actor: feed.watched, type: 'tool.approve', callId: 'c1' })
  expect(await response.json()).toEqual({ note: '' })
  expect((await run.result).answer).toBe('Removed it.')
  await feed.until(({ tools }) => tools.get('c1')?.status === 'done' && rowOf(feed, 'job')?.status === 'done')
  expect(feed.tools.get('c1')?.result).toBe('removed a.txt')
  expect(feed.attempts.map(({ step, text }) => [step, text])).toEqual([
    [1, 'Let me see.'],
    [2, 'Removed it.'],
  ])
  expect(feed.moments.at(-1)?.states).toEqual(['agent', 'agent.Complete'])
  expect(feed.moments.at(-1)?.changes.some(({ path }) => path.startsWith('history[0]'))).toBe(false)
  const late = await command(inspector, { actor: feed.watched, type: 'tool.approve', callId: 'c1' })
  expect([late.status, await late.text()]).toEqual([409, expect.stringContaining('is over (complete)')])
})

it('kills and resumes only a stored run that runs in this process', async () => {
  const { file, runs } = await owning([asking])
  await (await runs.start('janitor', 'Remove a.txt', { id: 'job' })).result
  const inspector = await inspecting({ runs: await guestOf(file) })
  const feed = await listen(inspector)
  await feed.until(({ tools }) => tools.size > 0)
  expect(rowOf(feed, 'job')?.canRestart).toBe(false)
  const response = await command(inspector, { actor: feed.watched, type: 'restart' })
  expect([response.status, await response.text()]).toEqual([409, expect.stringContaining('in this process')])
})

it('says that a decision waits when no program is running the runs, and runs nothing itself', async () => {
  const { cwd, file, runs } = await owning([asking])
  await (await runs.start('janitor', 'Remove a.txt', { id: 'job' })).result
  await runs.close()
  const inspector = await inspecting({ runs: await guestOf(file) })
  const feed = await listen(inspector)
  await feed.until(({ tools }) => tools.size > 0)
  const reject = { actor: feed.watched, type: 'tool.reject', callId: 'c1', reason: 'not today' }
  const response = await command(inspector, reject)
  expect(((await response.json()) as { note: string }).note).toContain('No program is running these runs now')
  const next = await owning(['As you wish.'], cwd)
  expect((await (await next.runs.get('job'))?.result)?.answer).toBe('As you wish.')
  await feed.until(() => rowOf(feed, 'job')?.status === 'done')
  expect(feed.tools.get('c1')).toMatchObject({ status: 'failed' })
  expect(feed.tools.get('c1')?.result).toContain('not today')
})

it('shows text as it arrives, runs that start later, and answers that start over', async () => {
  const { cwd, file, runs } = await owning([[{ text: 'Half an ' }, { hang: true }]])
  const inspector = await inspecting({ runs: await guestOf(file) })
  const feed = await listen(inspector)
  await runs.start('janitor', 'Go', { id: 'job' })
  await feed.until(({ text }) => text === 'Half an ')
  expect(rowOf(feed, 'job')).toMatchObject({ status: 'active', state: 'Accumulating.Requesting' })
  await runs.close()
  await owning(['A whole answer.'], cwd)
  await feed.until(() => rowOf(feed, 'job')?.status === 'done')
  expect(feed.attempts.map(({ text, isVoid, attempt }) => [text, isVoid, attempt])).toEqual([
    ['Half an ', true, 0],
    ['A whole answer.', false, 1],
  ])
})

it('aborts a run, and forgets one that is deleted', async () => {
  const { file, runs } = await owning([[{ text: 'On and on ' }, { hang: true }]])
  const run = await runs.start('janitor', 'Go', { id: 'job' })
  const inspector = await inspecting({ runs: await guestOf(file) })
  const feed = await listen(inspector)
  await feed.until(({ text }) => text === 'On and on ')
  await command(inspector, { actor: feed.watched, type: 'abort' })
  await expect(run.result).rejects.toThrow('from the inspector')
  await feed.until(() => rowOf(feed, 'job')?.status === 'aborted')
  expect(rowOf(feed, 'job')).toMatchObject({ canAbort: false, state: 'Aborted' })
  await runs.prune({ olderThan: new Date(Date.now() + 60_000) })
  await feed.until(({ actors }) => actors.size === 0)
})

it('shows the chart of the agent if it is known, otherwise the lifecycle chart', async () => {
  const file = join(await folder(), 'runs.db')
  const careful = new Agent(scriptedModel([asking]), {
    tools: [removal],
    orchestrator: reflectionOrchestrator(),
  })
  const runs = await openRuns({ store: sqlite(file), agents: { careful } })
  onTestFinished(() => runs.close())
  await (await runs.start('careful', 'Remove a.txt', { id: 'job' })).result
  const [known, unknown] = [await inspecting({ runs }), await inspecting({ runs: await guestOf(file) })]
  const shownBy = async (inspector: typeof known) => {
    const feed = await listen(inspector)
    await feed.until(({ tools }) => tools.get('c1')?.status === 'pending')
    const chart = await (await fetch(`${inspector.url}chart?actor=${feed.watched}`)).text()
    return { states: feed.moments.at(-1)?.states ?? [], chart }
  }
  const here = await shownBy(known)
  expect(here.states[0]).toBe('reflection')
  for (const state of here.states) expect(here.chart).toContain(`"id":"${state}"`)
  expect((await shownBy(unknown)).states).toEqual(['agent', 'agent.AwaitingApproval'])
})

it('hides keys in what was stored', async () => {
  const { file, runs } = await owning(['The key is sk-abcdefghijklmnopqrstuvwxyz123456, keep it.'])
  await (await runs.start('janitor', 'sk-abcdefghijklmnopqrstuvwxyz123456?', { id: 'job' })).result
  const inspector = await inspecting({ runs: await guestOf(file) })
  const feed = await listen(inspector)
  await feed.until(({ text }) => text.includes('keep it.'))
  expect(feed.raw).not.toContain('abcdefghijklmnop')
})

it('rejects runs that cannot be read', async () => {
  const { file } = await owning([])
  const closed = await openRuns({ store: sqlite(file) })
  await closed.close()
  await expect(startInspector({ runs: closed })).rejects.toThrow('These runs were closed')
})

it('asks a stored run the next question, and runs it again from a step, if its agent is known', async () => {
  const { file, runs, model } = await owning(['Hello.', 'Bye.', 'Hello again.'])
  await (await runs.start('janitor', 'Say hello', { id: 'first' })).result
  const inspector = await inspecting({ runs })
  const feed = await listen(inspector)
  await feed.until(({ text }) => text === 'Hello.')
  expect(rowOf(feed, 'first')).toMatchObject({ canAsk: true, from: null })
  const next = await command(inspector, { actor: feed.watched, type: 'again', prompt: 'And now?' })
  const { actor } = (await next.json()) as { actor: number }
  await feed.until(({ actors }) => actors.get(actor)?.status === 'done')
  expect(feed.actors.get(actor)).toMatchObject({ title: 'And now?', from: rowOf(feed, 'first')?.id })
  expect(model.requests[1]?.messages.map(textOf)).toEqual(['Say hello', 'Hello.', 'And now?'])
  const first = rowOf(feed, 'first')?.id
  const forked = await command(inspector, { actor: first, type: 'again', step: 1 })
  const { actor: fork } = (await forked.json()) as { actor: number }
  await feed.until(({ actors }) => actors.get(fork)?.status === 'done')
  expect(model.requests[2]?.messages.map(textOf)).toEqual(['Say hello'])

  const elsewhere = await inspecting({ runs: await guestOf(file) })
  const seen = await listen(elsewhere)
  await seen.until(({ actors }) => actors.size === 3)
  const guest = rowOf(seen, 'first')
  expect(guest).toMatchObject({ canAsk: false })
  const refused = await command(elsewhere, { actor: guest?.id, type: 'again', prompt: 'And now?' })
  expect([refused.status, await refused.text()]).toEqual([
    409,
    expect.stringContaining('openRuns({ store, agents })'),
  ])
})
