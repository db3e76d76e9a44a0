/**
 * A live inspector on this machine, and a filter in front of Stately's.
 *
 * @module statewire/inspector
 */

export { quietInspect } from './quietInspect.ts'
export { type Inspector, type InspectorOptions, startInspector } from './startInspector.ts'
