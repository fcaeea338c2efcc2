// A file of its own, which the page loads before the others.
import "../style/theme.browser.js";
