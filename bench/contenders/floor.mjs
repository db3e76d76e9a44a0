import { bareClient } from './bareClient.mjs'

/** A bare client on undici's lowest entry: the least that anything could cost, which hardly any program uses. */
export const open = (options) => bareClient(options, send)

const send = ({ dispatcher, ...request }, onBytes, signal) =>
  new Promise((resolve, reject) => {
    dispatcher.dispatch(request, {
      onRequestStart: (controller) => {
        if (signal) signal.onabort = () => controller.abort(new Error('aborted'))
      },
      onResponseStart: () => {},
      onResponseData: (_, bytes) => onBytes(bytes),
      onResponseEnd: () => resolve(),
      onResponseError: (_, error) => reject(error),
    })
  })
