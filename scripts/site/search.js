// The search of the site: reads all sections when the field is used for the first time, and looks for them here.
import MiniSearch from 'minisearch'

const MAX_FOUND = 12
const EXCERPT_CHARACTERS = 120
const root = document.querySelector('script[data-root]').dataset.root
const field = document.getElementById('search')
const list = document.getElementById('found')
let ready

function load() {
  ready ??= fetch(`${root}search.json`)
    .then(answer => answer.json())
    .then(sections => {
      const search = new MiniSearch({
        fields: ['title', 'page', 'text'],
        storeFields: ['title', 'page', 'url', 'text'],
        searchOptions: { boost: { title: 4, page: 2 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' },
      })
      search.addAll(sections.map((section, id) => ({ id, ...section })))
      return search
    })
  return ready
}

async function show() {
  const words = field.value.trim()
  const search = await load()
  if (words !== field.value.trim()) return
  const found = words === '' ? [] : search.search(words).slice(0, MAX_FOUND)
  list.replaceChildren(...found.map(item))
  if (words !== '' && found.length === 0)
    list.append(Object.assign(document.createElement('li'), { textContent: 'Nothing found' }))
  list.hidden = words === ''
}

function item({ title, page, url, text }) {
  const link = Object.assign(document.createElement('a'), { href: root + url })
  const where = title === page ? title : `${page} › ${title}`
  link.append(
    Object.assign(document.createElement('strong'), { textContent: where }),
    Object.assign(document.createElement('span'), { textContent: text.trim().slice(0, EXCERPT_CHARACTERS) }),
  )
  const entry = document.createElement('li')
  entry.append(link)
  return entry
}

field.addEventListener('focus', load)
field.addEventListener('input', show)
document.addEventListener('keydown', event => {
  const typing = event.target instanceof HTMLInputElement
  if (event.key === '/' && !typing) {
    event.preventDefault()
    field.focus()
  } else if (event.key === 'Escape') {
    field.value = ''
    list.hidden = true
  } else if (event.key === 'ArrowDown' && (typing || list.contains(event.target))) {
    event.preventDefault()
    const links = [...list.querySelectorAll('a')]
    links[links.indexOf(document.activeElement) + 1]?.focus()
  }
})

// On a small screen the list of pages begins closed.
if (matchMedia('(max-width: 60rem)').matches) document.querySelector('nav details')?.removeAttribute('open')
