// @ts-check
// Lays charts out in a worker, so that neither the page nor the process that it watches waits.

/** @import { ELK, ElkNode } from 'elkjs/lib/elk.bundled.js' */
/**
 * @typedef {{
 *   ELK: new () => ELK,
 *   importScripts(url: string): void,
 *   onmessage(message: MessageEvent<{ id: number, graph: ElkNode }>): void,
 *   postMessage(answer: { id: number, placed?: ElkNode, problem?: string }): void,
 * }} Scope
 */

const scope = /** @type {Scope} */ (/** @type {unknown} */ (globalThis))
scope.importScripts('elk.js')
const elk = new scope.ELK()

/** @param {MessageEvent<{ id: number, graph: ElkNode }>} message */
const answer = ({ data: { id, graph } }) => {
  elk.layout(graph).then(
    (placed) => scope.postMessage({ id, placed: { ...placed, id: graph.id } }),
    (error) => scope.postMessage({ id, problem: String(error) }),
  )
}

// The layout engine listens here itself when it is loaded in a worker: it is called through its object instead.
scope.onmessage = answer
