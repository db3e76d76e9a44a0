/** The memory in use after a collection; buffers of a connection go a turn of the loop later. */
export const heapUsed = async () => {
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc()
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return process.memoryUsage().heapUsed
}

/** Bytes that the result of some work keeps while it is held. */
export const retained = async (work) => {
  const before = await heapUsed()
  const { held } = await work()
  const after = await heapUsed()
  return held === undefined ? Number.NaN : after - before
}

/** The most the process used while some work was done, in MiB; the whole process counts, as for its container. */
export const peakOf = async (work) => {
  let heap = 0
  const look = () => {
    heap = Math.max(heap, process.memoryUsage().heapUsed)
  }
  const timer = setInterval(look, 5)
  await work()
  look()
  clearInterval(timer)
  return { peakHeap: heap / 2 ** 20, peakRss: process.resourceUsage().maxRSS / 2 ** 10 }
}
