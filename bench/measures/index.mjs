import { chunk, flat, inspected } from './chunk.mjs'
import { durable } from './durable.mjs'
import { abort, firstToken } from './latency.mjs'
import { longLoop, policy, request, tools, typed } from './loop.mjs'
import { agents, chats, growth, streams } from './many.mjs'
import { edge, install, load } from './weight.mjs'

/**
 * A measure gives cases. `job` is what a child process does, once per contender and repetition (no more often than
 * `repetitions` says); a case with `look` instead is looked at once, here. `values` are what is taken from the results:
 * a goal is a `ratio` `to` the reader or the floor of the same run, or a limit (`most`); it is for all that is
 * statewire, or for the contenders it is `of`.
 */
export const measures = {
  chunk,
  flat,
  inspected,
  tools,
  request,
  typed,
  longLoop,
  policy,
  streams,
  chats,
  agents,
  growth,
  abort,
  firstToken,
  durable,
  load,
  install,
  edge,
}
