/* Show HTML that Python made. Readers paste code that they have not read, and HTML in the page can do more than code in the
   worker. DOMPurify removes what runs a script. We also remove what loads files from other machines, because these
   would learn who reads, what covers the page, and what looks like a part of it to its reader or to its scripts. */

import DOMPurify from "./purify.es.mjs";

const words = (text) => text.trim().split(/\s+/);

const OPTIONS = {
  USE_PROFILES: { html: true, svg: true },
  ADD_TAGS: ["use"], // every figure has it
  ADD_ATTR: words("aria-hidden aria-label target"),
  ADD_URI_SAFE_ATTR: ["aria-label"],
  FORBID_TAGS: words(`
    article aside audio button dialog footer form header input label main nav output search section select style template
    textarea video`),
  FORBID_ATTR: words("background name overflow popover srcset tabindex"),
  ALLOW_ARIA_ATTR: false,
  ALLOW_DATA_ATTR: false,
  // Addresses of the web, files with trained weights, and what is not an address with a protocol.
  ALLOWED_URI_REGEXP: /^(https?:|mailto:|data:application\/x-npz;base64,|[^a-z]|[a-z+.-]+([^a-z+.:-]|$))/i,
  RETURN_DOM_FRAGMENT: true,
};
const SVG = "http://www.w3.org/2000/svg";
// Properties that keep an element inside its box.
const STYLES = /^(align|background-color$|border-(?!image)|clip|color$|column-gap|display|dominant|fill|flex|font|height|image-rendering|justify|letter|line-height|list-style|margin|max-|min-|opacity|padding|paint-order|row-gap|stop|stroke|text|vertical-align|white-space|width|word)/;
const FUNCTIONS = words("calc clamp color-mix hsl hsla light-dark matrix max min rgb rgba rotate scale skewx skewy translate var");
const CLASSES = /^(figure-(drawing|panels)|table|verdict(-\w+)?)$/;
const OWN = "shown-"; // begins each id, so that none is one of the page's

/** Returns the nodes of HTML that Python made. */
export const nodesOf = (html) => DOMPurify.sanitize(html, OPTIONS).childNodes;

DOMPurify.addHook("uponSanitizeAttribute", (element, attribute) => {
  const { attrName: name, attrValue: value } = attribute;
  const isDrawing = element.namespaceURI === SVG;
  if (name === "id") attribute.attrValue = OWN + value;
  else if (name === "class") attribute.attrValue = words(value).filter((word) => CLASSES.test(word)).join(" ");
  else if (name === "style") attribute.attrValue = harmlessStyle(element.style);
  else if (name === "role") attribute.keepAttr = value === "img";
  else if (name === "target") attribute.keepAttr = value === "_blank";
  else if (["img", "image"].includes(element.localName) && /^src$|href$/.test(name)) attribute.keepAttr = value.startsWith("data:");
  else if (isDrawing && /href$/.test(name)) {
    attribute.keepAttr = value.startsWith("#") && element.localName !== "a";
    attribute.attrValue = value.replace("#", `#${OWN}`);
  } else if (isDrawing && !name.startsWith("aria-")) {
    attribute.keepAttr = isHarmless(value) && !(name === "transform" && element.localName === "svg");
    attribute.attrValue = withOwnIds(value);
  }
});

/** Whether a value of CSS or SVG loads nothing. A backslash could spell the name of a function. */
function isHarmless(value) {
  const calls = [...value.toLowerCase().matchAll(/([\w-]*)\(\s*["']?(.?)/g)];
  return !value.includes("\\") && calls.every(([, name, first]) => ["", ...FUNCTIONS].includes(name) || (name === "url" && first === "#"));
}

const withOwnIds = (value) => value.replace(/(url\(\s*["']?#)/gi, `$1${OWN}`);

function harmlessStyle(style) {
  for (const property of [...style]) {
    if (!STYLES.test(property) || !isHarmless(style.getPropertyValue(property))) style.removeProperty(property);
  }
  return withOwnIds(style.cssText);
}
