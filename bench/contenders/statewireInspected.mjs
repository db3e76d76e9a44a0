import { builtModule } from '../built.mjs'
import { agentOf, streaming } from './statewire.mjs'

/** The same with the local inspector recording every run. */
export const inspectedBy = async (options) => {
  const { startInspector } = await import(builtModule('inspector')).catch(() => {
    throw new Error('the inspector is not built')
  })
  const inspector = await startInspector()
  return { inspector, contender: streaming(agentOf({ ...options, inspect: inspector.inspect })) }
}

export const open = async (options) => {
  const { inspector, contender } = await inspectedBy(options)
  return { ...contender, close: () => inspector.close() }
}
