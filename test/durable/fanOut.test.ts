/** Fifty background agents of one run, eight at a time, while their process dies again and again. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { isTaskResult, textOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { count, fanOutLead, most } from './fanOutLead.ts'
import { afterKill, opened, storeFile } from './storeFile.ts'

test('fifty tasks of which eight work at a time each give one result, whenever their process dies', async () => {
  let path = storeFile()
  let deaths = 0
  for (;;) {
    const { agent, seen } = fanOutLead()
    const runs = await opened(path, { agent }, { synchronous: 'normal' })
    const run = await runs.start('agent', 'Go', { id: 'job' })
    // Each process gets some results further; the last one may come to the end.
    const results = async () => (await run.info()).step
    const before = await results()
    while ((await run.info()).status !== 'complete' && (await results()) < before + 6) await pause(5)
    expect(seen()).toBeLessThanOrEqual(most)
    if ((await run.info()).status === 'complete') {
      const { messages, answer } = await run.result
      const texts = messages.filter(isTaskResult).map((message) => textOf(message).split('\n').at(-1))
      expect(texts.toSorted()).toEqual(
        Array.from({ length: count }, (_, index) => `Did t${index}`).toSorted(),
      )
      expect(answer).toBe(`${count} of ${count}`)
      expect(validateHistory(messages)).toEqual([])
      expect(deaths).toBeGreaterThan(3)
      return
    }
    path = afterKill(path)
    deaths += 1
    await runs.close({ drain: 0 })
  }
})
