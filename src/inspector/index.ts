export { quietInspect } from './quietInspect.ts'
export { type Inspector, type InspectorOptions, startInspector } from './startInspector.ts'
