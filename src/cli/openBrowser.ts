import { spawn } from 'node:child_process'

/** The program that opens a page here; undefined where there is no screen to show it on. */
export const browserCommand = (
  platform: NodeJS.Platform,
  env: NodeJS.ProcessEnv,
): readonly [command: string, ...args: string[]] | undefined => {
  if (env.CI || env.SSH_CONNECTION) return undefined
  if (platform === 'darwin') return ['open']
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open'] : undefined
}

/** Opens a page in the browser. Says whether one was started; it never waits for it. */
export const openBrowser = async (url: string, env: NodeJS.ProcessEnv): Promise<boolean> => {
  const [command, ...args] = browserCommand(process.platform, env) ?? []
  if (command === undefined) return false
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true })
  child.unref()
  return new Promise((resolve) => {
    child.once('spawn', () => resolve(true))
    child.once('error', () => resolve(false))
  })
}
