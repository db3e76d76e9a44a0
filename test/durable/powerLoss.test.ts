/**
 * A power failure takes back every commit that did not wait for the disk. A reader that kept its cursor sees each message
 * once, and no text that is put together from two answers.
 */
import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import type { DurableChunk, DurableRun } from '../../src/durable/index.ts'
import { findDriver, type OpenDriver } from '../../src/durable/sqlite/driver.ts'
import { type ChatMessage, textOf, toolResultsOf } from '../../src/messages/messages.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { dice } from '../proof/dice.ts'
import { opened, storeFile } from './storeFile.ts'

const open = await findDriver()

/** A driver that keeps what is on the disk: a copy of the file after each commit that waited for it. */
const onDisk = (path: string, images: string[]): OpenDriver => {
  return (at) => {
    const driver = open(at)
    if (at !== path) return driver
    let isFull = true
    return {
      prepare: (sql) => driver.prepare(sql),
      close: () => driver.close(),
      exec: (sql) => {
        driver.exec(sql)
        if (sql.startsWith('PRAGMA synchronous')) isFull = sql.endsWith('full')
        if (sql !== 'COMMIT' || !isFull) return
        const image = join(dirname(path), `image-${images.length}`, 'runs.db')
        mkdirSync(dirname(image))
        for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, image + end)
        images.push(image)
      },
    }
  }
}

/** An agent whose answers follow from the request and the try: a second try at an answer has other words. */
const wordy = (turns: number, life: string): Agent => {
  const model: ChatModel = {
    ...scriptedModel([]),
    stream: (request, sink) => {
      const results = request.messages.flatMap(toolResultsOf).length
      const words = ['I ', 'am ', 'in ', life, ` ${results}. `].map((text) => ({ text }))
      const call = results < turns ? [{ toolCall: { id: `c${results}`, name: 'work' } }] : []
      return scriptedModel([[...words, ...call]]).stream(request, sink)
    },
  }
  const work = tool({ name: 'work', description: 'Works.', onInterrupted: 'rerun', execute: () => 'worked' })
  return new Agent(model, { tools: [work] })
}

/** A reader that keeps what it shows: whole messages, and the text of the one that is being given. */
class Page {
  readonly messages: ChatMessage[]
  text: string
  readonly problems: string[] = []

  constructor({ messages, text }: { messages: readonly ChatMessage[]; text: string }) {
    this.messages = [...messages]
    this.text = text
  }

  show(chunk: DurableChunk): void {
    if (chunk.metadata.restart) this.text = ''
    this.text += chunk.output
    for (const message of chunk.messages) {
      if (message.role === 'model' && this.text.trim() !== textOf(message).trim())
        this.problems.push(`"${this.text}" was shown for "${textOf(message)}"`)
      this.messages.push(message)
      this.text = ''
    }
  }
}

type Moment = { cursor: string; image: string; messages: ChatMessage[]; text: string }

/** Reads a run to its end, and keeps each moment of the reader. */
const watched = async (run: DurableRun, images: readonly string[]): Promise<Moment[]> => {
  const page = new Page({ messages: [], text: '' })
  const moments: Moment[] = []
  for await (const { cursor, chunk } of run.stream()) {
    page.show(chunk)
    const { messages, text } = page
    moments.push({ cursor, image: images.at(-1) ?? '', messages: [...messages], text })
  }
  expect(page.problems).toEqual([])
  return moments
}

const seeds = Number(process.env.POWER_SEEDS ?? 1)

test.each(Array.from({ length: seeds }, (_, index) => index + 1))(
  'power failures at every moment of a reader (seed %d)',
  async (seed) => {
    const path = storeFile()
    const images: string[] = []
    const turns = 1 + dice(seed).below(3)
    const runs = await opened(path, { agent: wordy(turns, 'one') }, { driver: onDisk(path, images) })
    const run = await runs.start('agent', 'Go', { id: 'job' })
    const moments = await watched(run, images)
    expect(moments.length).toBeGreaterThan(turns * 4)
    for (const [index, { cursor, image, messages, text }] of moments.entries()) {
      const copy = join(dirname(path), `moment-${index}`, 'runs.db')
      mkdirSync(dirname(copy))
      for (const end of ['', '-wal']) if (existsSync(image + end)) copyFileSync(image + end, copy + end)
      const again = await opened(copy, { agent: wordy(turns, 'two') })
      const found = await again.get('job')
      const page = new Page({ messages, text })
      for await (const { chunk } of found?.stream({ after: cursor }) ?? []) page.show(chunk)
      expect([cursor, page.problems]).toEqual([cursor, []])
      expect([cursor, page.messages]).toEqual([cursor, (await found?.result)?.messages])
      await again.close()
    }
  },
)
