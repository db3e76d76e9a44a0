import type { AnyStateMachine } from 'xstate'
import { createChart } from '../../machines/agent/chart.ts'
import { findProvider } from '../../providers/registry.ts'

/** The chart of an agent's run. It does not depend on the model; any will do. */
export const lifecycleChart = (): AnyStateMachine =>
  createChart({ model: findProvider('openai').chatModel(undefined, {}) })
