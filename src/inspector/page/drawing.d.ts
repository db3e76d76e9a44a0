export { drawChart } from '../../visualize/drawing.ts'
