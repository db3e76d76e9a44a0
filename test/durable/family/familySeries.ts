import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { DurableRun, Runs } from '../../../src/durable/index.ts'
import { type ChatMessage, isTaskResult, textOf, toolResultsOf } from '../../../src/messages/messages.ts'
import { validateHistory } from '../../../src/messages/validateHistory.ts'
import { type Dice, dice } from '../../proof/dice.ts'
import { Script } from '../builtScript.ts'
import { opened } from '../storeFile.ts'
import { StreamReader } from '../world/StreamReader.ts'
import { flawOf, found } from './familyAgents.ts'

/** Everything that can go wrong with families. All lists must stay empty. */
export type FamilyFaults = {
  lost: string[]
  doubled: string[]
  stuck: string[]
  outOfOrder: string[]
  wrongText: string[]
}

export type FamilyReport = {
  faults: FamilyFaults
  runs: number
  kills: number
  messages: number
  restarts: number
}

/** Runs at the same time. */
const concurrency = 6

/** A place for runs other than a file: how this process opens it, and the address that the other processes get. */
type FamilyDatabase = { url: string; open(effects: string): Promise<Pick<Runs, 'get' | 'close'>> }

/** Plays families while the processes that run them, and the one that writes to them, are killed. */
export const familySeries = async (
  script: string,
  seed: number,
  kills: number,
  database?: FamilyDatabase,
): Promise<FamilyReport> => {
  const random = dice(seed)
  const folder = mkdtempSync(join(tmpdir(), 'statewire-family-'))
  const effects = join(folder, 'effects.log')
  const store = database ? await database.open(effects) : await opened(join(folder, 'runs.db'), {})
  const faults: FamilyFaults = { lost: [], doubled: [], stuck: [], outOfOrder: [], wrongText: [] }
  const report = { faults, runs: 0, kills: 0, messages: 0, restarts: 0 }
  const staff = [1, 2, 3].map(
    (number) => new Member(script, number === 3 ? 'send' : 'work', folder, random, database?.url),
  )
  const isOver = () => report.kills >= kills
  const deadline = new AbortController()
  const play = async (): Promise<void> => {
    const id = `r${report.runs}`
    report.runs += 1
    writeFileSync(join(folder, 'plan'), String(report.runs))
    const read = await readToEnd(() => store.get(id), deadline.signal)
    if (read) judge(id, read, staff[2]?.said(id) ?? new Map(), report)
    else faults.stuck.push(`${id}: ${JSON.stringify(await (await store.get(id))?.info())}`)
    if (!isOver() && !deadline.signal.aborted) await play()
  }
  try {
    const playing = Promise.all(Array.from({ length: concurrency }, play))
    while (!isOver()) {
      // A worker on a database takes seconds to join.
      await pause(database ? 2500 + random.below(4000) : 50 + random.below(600))
      await random.pick(staff).die()
      report.kills = staff.reduce((sum, { deaths }) => sum + deaths, 0)
    }
    await Promise.race([playing, pause(300_000, undefined, { ref: false })])
    deadline.abort()
    await playing
    const keys = (existsSync(effects) ? readFileSync(effects, 'utf8') : '')
      .split('\n')
      .filter((key) => key !== '')
    faults.stuck.push(...staff.flatMap(({ errors }) => errors))
    faults.doubled.push(...keys.filter((key, index) => keys.indexOf(key) !== index))
    return report
  } finally {
    for (const member of staff) await member.end()
    if (database) await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The words of DBOS where a worker was too slow and another one took its run: it is right to stop there. */
const lostRun = /^Workflow \S+ is no longer owned by this execution\s+Error: .*\n(?:\s+at .*\n)*/gm

/** A process that is started again whenever it dies. */
class Member {
  readonly #start: () => Script
  readonly #scripts: Script[] = []
  #isOver = false
  deaths = 0

  constructor(
    script: string,
    what: 'work' | 'send',
    folder: string,
    { chance, below, seed }: Dice,
    database: string | undefined,
  ) {
    this.#start = () => {
      if (database !== undefined) return new Script(script, [what, folder, String(seed()), '', database])
      // Half of them end themselves, around a commit.
      const moments = chance(0.5) ? [String(1 + below(what === 'work' ? 150 : 20))] : []
      return new Script(script, [what, folder, String(seed()), ...moments])
    }
    this.#next()
  }

  #next(): void {
    const script = this.#start()
    this.#scripts.push(script)
    script.ended.then(() => {
      this.deaths += 1
      if (!this.#isOver) this.#next()
    })
  }

  /** Everything that its processes complained about. */
  get errors(): string[] {
    return this.#scripts.map(({ errors }) => errors.replace(lostRun, '')).filter((errors) => errors !== '')
  }

  async die(): Promise<void> {
    await this.#scripts.at(-1)?.kill()
  }

  async end(): Promise<void> {
    this.#isOver = true
    await this.die()
  }

  /** The last answer to each message that it has sent to a run, in the order of the first ones. */
  said(id: string): Map<string, string> {
    const said = new Map<string, string>()
    for (const line of this.#scripts.flatMap(({ lines }) => lines)) {
      const each: { id: string; text: string; came: string } = JSON.parse(line)
      if (each.id === id) said.set(each.text, each.came)
    }
    return said
  }
}

type Read = { reader: StreamReader; messages: ChatMessage[]; status: string }

/** Reads the stream of a run to its end, through every wait. Undefined if it does not end. */
const readToEnd = async (
  find: () => Promise<DurableRun | undefined>,
  signal: AbortSignal,
): Promise<Read | undefined> => {
  const reader = new StreamReader()
  while (!signal.aborted) {
    const run = await find()
    if (!run) {
      await pause(10)
      continue
    }
    const after = reader.cursor
    for await (const item of run.stream({ signal, ...(after !== undefined && { after }) })) reader.take(item)
    if (reader.finish === undefined) continue
    const { messages, status } = await run.result.catch((thrown) => ({
      messages: [],
      status: String(thrown),
    }))
    return { reader, messages, status }
  }
  return undefined
}

/** Compares a run that is over with what must have happened. `sent`: what happened to the messages to it, by their texts. */
const judge = (
  id: string,
  { reader, messages, status }: Read,
  sent: ReadonlyMap<string, string>,
  report: FamilyReport,
): void => {
  const { faults } = report
  const about = (what: string) => `${id}: ${what}`
  if (status !== 'complete') faults.stuck.push(about(status))
  const results = messages.filter(isTaskResult).map((each) => textOf(each).split('\n').at(-1) ?? '')
  // On an engine that records an answer before it is taken, a message may cut off the one that starts the tasks.
  const isStarted = messages
    .flatMap(toolResultsOf)
    .some(({ name, isError }) => name === 'research' && !isError)
  for (const each of isStarted ? found : []) {
    const times = results.filter((result) => result === each).length
    if (times === 0) faults.lost.push(about(`${each} Its results: ${results.join(', ')}`))
    if (times > 1) faults.doubled.push(about(each))
  }
  const sleeps = messages.flatMap(toolResultsOf).filter(({ name }) => name === 'sleep')
  if (sleeps.length === 0) faults.lost.push(about('the sleep'))
  if (sleeps.length > 1) faults.doubled.push(about('the sleep'))
  const texts = messages.flatMap(({ role, parts }) =>
    role === 'user' ? parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])) : [],
  )
  for (const [text, came] of sent) {
    const times = texts.filter((each) => each === text).length
    if (came !== 'refused' && times === 0) faults.lost.push(about(`${came}: ${text}`))
    if (times > (came === 'refused' ? 0 : 1)) faults.doubled.push(about(`${came}: ${text}`))
  }
  for (const kind of [/^(now|step) \d/, /^idle \d/]) {
    const order = texts.filter((text) => kind.test(text)).map((text) => Number(text.split(' ')[1]))
    if (order.some((each, index) => index > 0 && each < (order[index - 1] ?? 0)))
      faults.outOfOrder.push(about(order.join()))
  }
  faults.wrongText.push(...validateHistory(messages).map(({ message }) => about(message)))
  faults.wrongText.push(...reader.faultsAgainst(messages).map(about))
  for (const [index, message] of messages.entries()) {
    const flaw = message.role === 'model' && flawOf(message, messages.slice(0, index))
    if (flaw) faults.wrongText.push(about(flaw))
  }
  report.messages += sent.size
  report.restarts += reader.restarts
}
