type Shared = { callbacks: Set<() => void>; listener: () => void }

const listening = new WeakMap<AbortSignal, Shared>()

/**
 * Calls back when the signal is aborted; the function returned takes that back. All callbacks of one signal share one
 * listener: Node takes more than ten on a signal for a leak and warns, but a signal may well end a hundred runs.
 */
export const onAbort = (signal: AbortSignal, callback: () => void): (() => void) => {
  const shared = listening.get(signal) ?? listen(signal)
  shared.callbacks.add(callback)
  return () => {
    shared.callbacks.delete(callback)
    if (shared.callbacks.size > 0 || listening.get(signal) !== shared) return
    signal.removeEventListener('abort', shared.listener)
    listening.delete(signal)
  }
}

const listen = (signal: AbortSignal): Shared => {
  const callbacks = new Set<() => void>()
  const listener = () => {
    listening.delete(signal)
    for (const callback of callbacks) callback()
  }
  const shared = { callbacks, listener }
  listening.set(signal, shared)
  signal.addEventListener('abort', listener, { once: true })
  return shared
}
