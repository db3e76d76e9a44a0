// What bundlers put in undici's place outside of Node.
export {}
