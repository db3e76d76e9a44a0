/**
 * Drawings of any XState machine: SVG, Mermaid text, or plain data.
 *
 * @module statewire/visualize
 */

export {
  type ChartDescription,
  type ChartState,
  type ChartTransition,
  describeMachine,
} from './describeMachine.ts'
export type { SvgOptions } from './drawing.ts'
export {
  type InvokeJson,
  type MachineJson,
  machineToJSON,
  type StateJson,
  type TransitionJson,
} from './machineToJSON.ts'
export { type MermaidOptions, toMermaid } from './toMermaid.ts'
export { toSvg } from './toSvg.ts'
export type { Charted } from './transitions.ts'
