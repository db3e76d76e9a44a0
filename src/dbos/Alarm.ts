import { pause } from './Database.ts'
import type { Service } from './Service.ts'

/** The longest time between two looks: another process may have stored an earlier moment. */
const longestWaitMs = 1000
const againMs = 100
const batchSize = 100

/**
 * Continues runs when their moment has come: those that sleep, or whose calls expire, and those that a command is due for.
 * Every worker looks, and the first one that finds a run wakes it. No workflow of DBOS waits meanwhile: a run that waits
 * is a row.
 */
export class Alarm {
  readonly #service: Service
  #ringing: Promise<void> = Promise.resolve()

  constructor(service: Service) {
    this.#service = service
  }

  start(): void {
    this.#ringing = this.#ring()
  }

  /** Resolves when nothing of it is under way any more, once the service has stopped. */
  stopped(): Promise<void> {
    return this.#ringing
  }

  async #ring(): Promise<void> {
    const { signal } = this.#service
    while (!signal.aborted) {
      // The database may be away for a while.
      const next = await this.#wake().catch(() => Number.POSITIVE_INFINITY)
      // What is due and could not be taken, such as a command for a locked run, is looked at again.
      const ms = Math.max(againMs, next - Date.now())
      await pause(Math.min(ms, longestWaitMs), signal)
    }
  }

  /** Wakes what is due, and returns the next moment. */
  async #wake(): Promise<number> {
    const { database, agents, commands } = this.#service
    const woken = await database.query(
      `UPDATE statewire.runs SET status = 'running', leg = leg + 1, due = NULL, asks = NULL, updated_at = clock_timestamp()
       WHERE id IN (
         SELECT id FROM statewire.runs WHERE status = 'waiting' AND due <= $1 AND agent = ANY($2)
         ORDER BY due LIMIT $3 FOR UPDATE SKIP LOCKED
       ) RETURNING id, agent, leg`,
      Date.now(),
      agents.names,
      batchSize,
    )
    // Should this process end before it has started them all, the sweep of another one does.
    for (const { id, agent, leg } of woken)
      await this.#service.startSegment(String(id), Number(leg), String(agent))
    for (const { id, segment, agent } of await commands.takeDue(Date.now(), batchSize))
      await this.#service.startSegment(id, segment, agent)
    const [next] = await database.query(
      `SELECT least(
         (SELECT min(due) FROM statewire.runs WHERE status = 'waiting' AND agent = ANY($1)),
         (SELECT min(due) FROM statewire.later_commands)
       ) AS due`,
      agents.names,
    )
    return next?.due === null ? Number.POSITIVE_INFINITY : Number(next?.due)
  }
}
