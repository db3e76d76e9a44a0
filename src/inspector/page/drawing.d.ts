export { drawingOf } from '../chartDrawing.ts'
