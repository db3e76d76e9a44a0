import type { ELK, ElkNode } from 'elkjs/lib/elk.bundled.js'

let elk: Promise<ELK> | undefined

/** Lays a graph out. The layouter is large, so it is loaded with the first picture; the build puts it beside this code. */
export const layOut = async (graph: ElkNode): Promise<ElkNode> => {
  elk ??= import('elkjs/lib/elk.bundled.js').then(({ default: Elk }) => new Elk())
  return (await elk).layout(graph)
}
