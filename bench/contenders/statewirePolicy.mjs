import { createMachine } from 'xstate'
import { weather } from '../tool.mjs'
import { agentOf, streaming } from './statewire.mjs'

const taken = { actions: () => {} }

/** A policy that is asked about everything and allows it: only its questions cost. */
const allowing = createMachine({
  on: { prompt: taken, [`${weather.name}.call`]: taken, [`${weather.name}.done`]: taken, answer: taken },
})

export const open = (options) => streaming(agentOf({ ...options, policy: allowing }))
