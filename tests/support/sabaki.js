// Play one game between two engines through @sabaki/gtp, as Sabaki does: node sabaki.js FOLDER SIZE BLACK WHITE
// FOLDER holds the package; BLACK and WHITE are JSON lists, a program and its arguments. Prints one JSON object.

const [folder, size, ...programs] = process.argv.slice(2)
const {ControllerStateTracker, Controller} = require(folder)

async function ask(engine, name, ...args) {
  const {content, error} = await engine.queueCommand({name, args})
  if (error) throw new Error(`${name} ${args.join(' ')} is answered with ${content}`)
  return content.trim()
}

async function main() {
  const controllers = programs.map(text => JSON.parse(text)).map(([path, ...args]) => new Controller(path, args))
  controllers.forEach(each => each.start())
  const engines = controllers.map(each => new ControllerStateTracker(each))
  const history = []
  let result
  try {
    for (;;) {
      const side = history.length % 2
      await engines[side].sync({boardsize: [+size, +size], history: [...history]})
      const legal = (await ask(engines[side], 'gogui-rules_legal_moves')).toUpperCase().split(/\s+/)
      if (legal[0] === '') break
      const vertex = (await ask(engines[side], 'genmove', 'BW'[side])).toUpperCase()
      if (!legal.includes(vertex)) throw new Error(`${vertex} is not among ${legal.join(' ')}`)
      history.push({name: 'play', args: ['BW'[side], vertex]})
    }
    result = await ask(engines[history.length % 2], 'gogui-rules_final_result')
  } finally {
    await Promise.all(controllers.map(each => each.stop()))
  }
  console.log(JSON.stringify({moves: history.map(each => each.args[1]), result}))
}

main().catch(error => {
  console.error(error.message)
  process.exit(1)
})
