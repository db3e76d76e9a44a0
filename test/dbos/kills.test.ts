/**
 * Two workers share the runs, and one of them is killed or replaced again and again, in the middle of streaming and of
 * tools. Nothing is lost, nothing is stuck, no tool runs twice unless it may, every message that was acknowledged is in its
 * run once, every run that sleeps wakes up, and every reader sees the right text. A deploy leaves no call in doubt.
 */
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DurableRun, dbosRuns, type Runs } from '../../src/dbos/index.ts'
import { textOf, toolCallsOf, toolResultsOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { type Noted, plannedAgents } from './world/agents.ts'
import { type PlannedTurn, promptOf } from './world/plan.ts'
import { RestlessReader } from './world/RestlessReader.ts'
import { type ModelServer, startModel } from './world/startModel.ts'
import { buildWorker, type Worker, Workers } from './world/Workers.ts'

const kills = Number(process.env.DBOS_KILLS ?? 3)
const wanted = Number(process.env.DBOS_RUNS ?? 12)
const seed = Number(process.env.PROOF_SEED ?? Date.now() % 1_000_000)

let postgres: Postgres
let model: ModelServer
let runs: Runs
let workers: Workers
const log = join(mkdtempSync(join(tmpdir(), 'statewire-kills-')), 'calls.log')

beforeAll(async () => {
  await buildWorker('kills')
  postgres = await startPostgres()
  model = await startModel(8)
  const databaseUrl = postgres.database()
  workers = new Workers(databaseUrl, model.url, log)
  runs = await dbosRuns({ databaseUrl, agents: plannedAgents(model.url, log), concurrency: 0 })
}, 180_000)

afterAll(async () => {
  await workers?.stop()
  await runs?.close()
  await model?.stop()
  await postgres?.stop()
})

/** A generator of numbers that a seed makes again. */
const dice = (from: number) => {
  let state = from
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}

const sentence = (random: () => number, id: string): string =>
  Array.from({ length: 20 + Math.floor(random() * 60) }, (_, n) => `${id}-${n}`).join(' ')

const plans: Record<string, (random: () => number, id: string) => PlannedTurn[]> = {
  one: (random, id) => [
    { calls: [{ name: 'note', input: { what: `${id}/1`, ms: random() * 900 } }] },
    { calls: [{ name: 'again', input: { what: `${id}/2`, ms: random() * 900 } }] },
    { calls: [{ name: 'sleep', input: { seconds: random() * 2 } }] },
    { calls: [{ name: 'doubt', input: { what: `${id}/3`, ms: random() * 900 } }] },
    { text: sentence(random, id) },
  ],
  side: (random, id) => [
    {
      calls: ['a', 'b', 'c', 'd'].map((n) => ({
        name: 'note',
        input: { what: `${id}/${n}`, ms: random() * 900 },
      })),
    },
    {
      calls: ['e', 'f'].map((n) => ({
        name: 'ask_helper',
        input: { prompt: promptOf({ id: `${id}/${n}`, turns: plans.helper?.(random, `${id}/${n}`) ?? [] }) },
      })),
    },
    { text: sentence(random, id) },
  ],
  pair: (random, id) => [
    {
      calls: ['a', 'b', 'c'].map((n) => ({
        name: n === 'b' ? 'again' : 'note',
        input: { what: `${id}/${n}`, ms: random() * 900 },
      })),
    },
    { calls: [{ name: 'wipe', input: { what: `${id}/w`, ms: random() * 600 } }] },
    { text: sentence(random, id) },
  ],
  helper: (random, id) => [
    { calls: [{ name: 'note', input: { what: `${id}/h`, ms: random() * 600 } }] },
    { text: `helped ${id}` },
  ],
  thinker: (random, id) => [1, 2, 3, 4].map(() => ({ text: sentence(random, id) })),
  critic: (random, id) => [1, 2, 3, 4].map(() => ({ text: sentence(random, id) })),
}
const agents = ['one', 'side', 'pair', 'one', 'side', 'pair', 'thinker', 'critic']

/** People who decide on everything that waits, until it is over. */
const deciding = async (isOver: () => boolean): Promise<void> => {
  while (!isOver()) {
    // Another round of people may have been faster.
    for (const { id, pending } of await runs.list({ status: 'waiting', limit: 500 }))
      for (const call of pending)
        await runs.send(id, { type: 'tool.approve', callId: call.id }).catch(() => {})
    await sleep(100)
  }
}

type Sent = { run: string; text: string; isTaken: boolean }

/** People who write to runs while they work, to each at most twice. */
const writing = async (ids: () => readonly string[], isOver: () => boolean): Promise<Sent[]> => {
  const sent: Sent[] = []
  const random = dice(seed + 1)
  while (!isOver()) {
    await sleep(random() * 150)
    const all = ids()
    const id = all[Math.floor(random() * all.length)]
    if (id === undefined || sent.filter(({ run }) => run === id).length > 1) continue
    const text = `<extra ${sent.length}>`
    const when = random() < 0.7 ? 'step' : 'idle'
    const delivery = await runs.send(id, { type: 'message', text, when }, { commandId: text })
    sent.push({ run: id, text, isTaken: delivery !== 'refused' })
  }
  return sent
}

/** The end of a run when no process is killed. That of an orchestrator, which has no tools here, is what it says elsewhere. */
const undisturbed = async (agent: string, prompt: string, turns: PlannedTurn[]): Promise<string> => {
  const last = turns.at(-1)
  if (agent === 'thinker' || agent === 'critic')
    return (await plannedAgents(model.url, log)[agent].send(prompt)).output
  return last && 'text' in last ? last.text : ''
}

const noted = (): Noted[] =>
  existsSync(log)
    ? readFileSync(log, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    : []

const replaced = async (way: 'kill' | 'deploy', worker: Worker): Promise<Worker> => {
  if (way === 'deploy') {
    const [next] = await Promise.all([workers.start(), workers.end(worker)])
    return next
  }
  await workers.kill(worker)
  return workers.start()
}

test.each(['kill', 'deploy'] as const)(
  `${kills} times %s over ${wanted} runs, seed ${seed}`,
  async (way) => {
    const random = dice(seed)
    const before = workers.kills
    const pair = await Promise.all([workers.start(), workers.start()])
    const started: { run: DurableRun; text: string; reader: RestlessReader }[] = []
    const reading: Promise<void>[] = []
    const start = async (n: number) => {
      const agent = agents[n % agents.length] ?? 'one'
      const turns = plans[agent]?.(random, `${way}${n}`) ?? []
      const prompt = promptOf({ id: `${way}${n}`, turns })
      const run = await runs.start(agent, prompt, { id: `${way}${n}` })
      const reader = new RestlessReader(run, random)
      reading.push(reader.read())
      started.push({ run, reader, text: await undisturbed(agent, prompt, turns) })
    }
    let isOver = false
    const people = deciding(() => isOver)
    // An orchestrator decides for itself what it does with a message.
    const steerable = () =>
      started.flatMap(({ run }) => (run.agent in { thinker: 1, critic: 1 } ? [] : run.id))
    const writers = writing(steerable, () => isOver)
    for (let n = 0; n < kills; n += 1) {
      // So that there is work to be killed in.
      while (started.length < (wanted * (n + 1)) / kills) await start(started.length)
      await sleep(200 + random() * 1500)
      const nth = random() < 0.5 ? 0 : 1
      const victim = pair[nth]
      if (victim) pair[nth] = await replaced(way, victim)
    }
    await Promise.all(reading)
    isOver = true
    await people
    const sent = await writers

    await Promise.all(pair.map((worker) => workers.end(worker)))

    const doubled = new Map<string, number>()
    // By what they note, and not by their key: a call that ran again under another key ran twice, too.
    for (const { moment, name, what } of noted())
      if (moment === 'begin' && (name === 'note' || name === 'wipe'))
        doubled.set(what, (doubled.get(what) ?? 0) + 1)
    expect([...doubled].filter(([, times]) => times > 1)).toEqual([])

    const ended = new Set(
      noted()
        .filter(({ moment }) => moment === 'end')
        .map(({ what }) => what),
    )
    const begun = new Set(noted().map(({ what }) => what))
    let inDoubt = 0
    for (const { run, text, reader } of started) {
      const { output, messages } = await run.result
      const own = sent.filter((each) => each.run === run.id)
      // A message may be answered with more than was planned.
      expect(own.length > 0 ? output.includes(text) : output.endsWith(text), run.id).toBe(true)
      const said = messages
        .filter(({ role }) => role === 'user')
        .map(textOf)
        .join()
      for (const each of own)
        expect(said.split(each.text).length - 1, `${run.id} ${each.text}`).toBe(each.isTaken ? 1 : 0)
      expect(validateHistory(messages)).toEqual([])
      expect(reader.problems).toEqual([])
      expect(reader.messages).toEqual(messages)
      expect(reader.ends).toBe(1)
      const calls = new Map(messages.flatMap(toolCallsOf).map((call) => [call.id, call]))
      for (const { id, result, isError } of messages.flatMap(toolResultsOf)) {
        const { what } = calls.get(id)?.arguments ?? {}
        if (typeof what !== 'string') continue
        if (isError) {
          // Nothing else can go wrong here: the model learns that the effect is unknown.
          expect(result).toContain('whether it took effect is unknown')
          inDoubt += 1
        } else expect(result).toBe(`noted ${what}`)
        expect(isError || ended.has(what), what).toBe(true)
        expect(isError || begun.has(what), what).toBe(true)
      }
      expect(await run.info()).toMatchObject({ status: 'complete' })
    }
    for (const { attempt, name } of noted()) if (name === 'note') expect(attempt).toBe(1)
    expect(workers.kills - before).toBe(kills + pair.length)
    if (way === 'deploy') expect(inDoubt).toBe(0)
    const restarts = started.reduce((sum, { reader }) => sum + reader.restarts, 0)
    console.log(
      `${kills} times ${way}, ${wanted} runs, ${noted().length} notes, ${inDoubt} in doubt, ${restarts} restarts, ${sent.length} messages (${sent.filter(({ isTaken }) => !isTaken).length} refused)`,
    )
  },
  600_000,
)
