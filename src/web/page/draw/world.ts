import { geoNaturalEarth1, geoPath } from 'd3-geo';
import { feature } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import world from 'world-atlas/countries-110m.json' with { type: 'json' };

/** The ISO 3166-1 code of each shape, by its number in world-atlas. */
const codesByNumber = `
  004AF008AL010AQ012DZ024AO031AZ032AR036AU040AT044BS050BD051AM056BE064BT068BO070BA072BW076BR
  084BZ090SB096BN100BG104MM108BI112BY116KH120CM124CA140CF144LK148TD152CL156CN158TW170CO178CG
  180CD188CR191HR192CU196CY203CZ204BJ208DK214DO218EC222SV226GQ231ET232ER233EE238FK242FJ246FI
  250FR260TF262DJ266GA268GE270GM275PS276DE288GH300GR304GL320GT324GN328GY332HT340HN348HU352IS
  356IN360ID364IR368IQ372IE376IL380IT384CI388JM392JP398KZ400JO404KE408KP410KR414KW417KG418LA
  422LB426LS428LV430LR434LY440LT442LU450MG454MW458MY466ML478MR484MX496MN498MD499ME504MA508MZ
  512OM516NA524NP528NL540NC548VU554NZ558NI562NE566NG578NO586PK591PA598PG600PY604PE608PH616PL
  620PT624GW626TL630PR634QA642RO643RU646RW682SA686SN688RS694SL703SK704VN705SI706SO710ZA716ZW
  724ES728SS729SD732EH740SR748SZ752SE756CH760SY762TJ764TH768TG780TT784AE788TN792TR795TM800UG
  804UA807MK818EG826GB834TZ840US854BF858UY860UZ862VE887YE894ZM`;

export interface Shape {
  /** ISO 3166-1 alpha-2; `undefined` for the few that have none. */
  readonly code: string | undefined;
  readonly name: string;
  /** An SVG path within {@link size}. */
  readonly path: string;
}

export const size = { width: 960, height: 470 };

const codes = new Map(
  [...codesByNumber.matchAll(/(\d{3})([A-Z]{2})/g)].map(([, number, code]) => [number!, code!]),
);

/** The countries of the world at 1:110 million, without Antarctica. Drawn when the page is built (vite.config.ts). */
export const shapes: readonly Shape[] = (() => {
  const topology = world as unknown as Topology<{ countries: GeometryCollection<{ name: string }> }>;
  const { features, ...all } = feature(topology, topology.objects.countries);
  const shown = features.filter(({ properties }) => properties.name !== 'Antarctica');
  const projection = geoNaturalEarth1().fitSize([size.width, size.height], { ...all, features: shown });
  const draw = geoPath(projection).digits(1);
  return shown.map((one) => {
    const { name } = one.properties;
    const code = name === 'Kosovo' ? 'XK' : codes.get(String(one.id));
    return { code, name, path: draw(one) ?? '' };
  });
})();
