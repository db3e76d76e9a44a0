const { stderr } = process

/** Shows the current task: one line that is overwritten on a terminal, plain lines elsewhere. */
export const progress = (total) => {
  let done = 0
  return {
    step(what) {
      done += 1
      const line = `[${done}/${total}] ${what}`
      if (stderr.isTTY) stderr.write(`\r\x1b[2K${line.slice(0, stderr.columns - 1)}`)
      else stderr.write(`${line}\n`)
    },
    end() {
      if (stderr.isTTY) stderr.write('\r\x1b[2K')
    },
  }
}
