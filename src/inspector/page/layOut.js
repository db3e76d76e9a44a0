// @ts-check

import { workerUrl } from './source.js'

/** @import { ElkNode } from 'elkjs/lib/elk.bundled.js' */
/** @typedef {{ resolve(placed: ElkNode): void, reject(error: Error): void }} Waiting */

/** A layout that takes longer than this is given up: the states are listed instead. */
const longestMs = 20_000

/** @type {Map<number, Waiting>} */
const waiting = new Map()
/** @type {Worker | undefined} */
let worker
let lastId = 0

const start = () => {
  const made = new Worker(workerUrl('chartWorker.js'))
  made.onmessage = ({ data: { id, placed, problem } }) => {
    if (placed) waiting.get(id)?.resolve(placed)
    else waiting.get(id)?.reject(new Error(problem))
  }
  made.onerror = () => fail('The chart layout could not be loaded.')
  return made
}

/** @param {string} problem */
const fail = (problem) => {
  worker?.terminate()
  worker = undefined
  for (const { reject } of waiting.values()) reject(new Error(problem))
}

/** Places a graph, in a worker. @param {ElkNode} graph @returns {Promise<ElkNode>} */
export const layOut = (graph) => {
  worker ??= start()
  lastId += 1
  const id = lastId
  const timer = setTimeout(() => fail('The layout took too long.'), longestMs)
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject })
    worker?.postMessage({ id, graph })
  }).finally(() => {
    clearTimeout(timer)
    waiting.delete(id)
  })
}
