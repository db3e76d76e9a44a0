// One measurement in a process of its own: the job is the argument, the result goes to the parent.
import { contenderNamed } from './contenders/index.mjs'
import { tasks } from './tasks/index.mjs'
import { setResultSize } from './tool.mjs'
import { baseUrlOf, wires } from './wires/index.mjs'

const { task, contender, origin, ...job } = JSON.parse(process.argv[2])
const wire = wires[job.wire ?? 'openai-chat']
setResultSize(job.resultSize)

/** The contender, connected to answers of the job's shape, or of another. */
const open = async ({ as = contender, ...shape } = {}) => {
  const asked = { ...job, ...shape }
  const { open } = await contenderNamed(as)
  // Loaded where it is needed only: zod is no part of what others cost.
  const typed = asked.answer === 'json' && (await import('./contenders/typed.mjs')).typedBy(asked.schema)
  return open({
    wire,
    baseUrl: baseUrlOf(origin, wire, asked),
    hasTools: asked.rounds > 0,
    ...(typed && { typed }),
    ...(asked.driver && { driver: asked.driver }),
    ...(asked.needsApproval && { needsApproval: true }),
  })
}

const result = await tasks[task]({ ...job, contender, origin, open })
process.send(result, () => process.exit())
