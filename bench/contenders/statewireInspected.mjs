import { builtModule } from '../built.mjs'
import { agentOf, streaming } from './statewire.mjs'

/** The same with the local inspector watching every run. */
export const open = async (options) => {
  const { startInspector } = await import(builtModule('inspector')).catch(() => {
    throw new Error('the inspector is not built')
  })
  const inspector = await startInspector()
  return { ...streaming(agentOf({ ...options, inspect: inspector.inspect })), close: () => inspector.close() }
}
