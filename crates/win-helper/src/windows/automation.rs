//! Reads the tree of a window through UI Automation.
//!
//! Wine 10 has only part of UI Automation's client side: no tree walkers, no cached subtrees, and of the accessors
//! only those with `Ex`. What is used here works there and on Windows alike: FindAllBuildCache fetches the children of
//! one element with all their properties in one call into the other process.

use ::windows::Win32::System::Com::{
    CLSCTX_INPROC_SERVER, COINIT_MULTITHREADED, CoCreateInstance, CoInitializeEx,
};
use ::windows::Win32::UI::Accessibility::{
    CUIAutomation, CUIAutomation8, IUIAutomation, IUIAutomationCacheRequest, IUIAutomationCondition,
    IUIAutomationElement, TreeScope_Children, UIA_AutomationIdPropertyId, UIA_BoundingRectanglePropertyId,
    UIA_ClassNamePropertyId, UIA_ControlTypePropertyId, UIA_FrameworkIdPropertyId, UIA_IsEnabledPropertyId,
    UIA_IsOffscreenPropertyId, UIA_IsPasswordPropertyId, UIA_NamePropertyId, UIA_PROPERTY_ID,
};
use ::windows::core::{Error, Result};

use super::top_level::{exists, native};
use super::{control_type, property, use_physical_pixels};
use crate::desktop::{DesktopError, WindowHandle};
use crate::progress::Progress;
use crate::tree::{Children, Element, Limits, Unreadable, walk};

/// What is asked of each element, besides its name.
const PROPERTIES: [UIA_PROPERTY_ID; 8] = [
    UIA_ControlTypePropertyId,
    UIA_AutomationIdPropertyId,
    UIA_ClassNamePropertyId,
    UIA_FrameworkIdPropertyId,
    UIA_IsEnabledPropertyId,
    UIA_IsOffscreenPropertyId,
    UIA_IsPasswordPropertyId,
    UIA_BoundingRectanglePropertyId,
];

/// Reads the UI Automation tree of a window into `progress`, by [`walk`]. Without `include_names` the names are not
/// even asked for. A call into a window that hangs does not return; the watchdog answers in its place.
pub fn read_tree(
    window: WindowHandle,
    include_names: bool,
    limits: Limits,
    progress: &Progress,
) -> std::result::Result<(), DesktopError> {
    use_physical_pixels();
    let failed = |error: Error| {
        if exists(window) {
            DesktopError::Automation(error.code().0.cast_unsigned())
        } else {
            DesktopError::NoSuchWindow
        }
    };
    if !exists(window) {
        return Err(DesktopError::NoSuchWindow);
    }
    let reader = Reader::new(include_names).map_err(failed)?;
    let root = reader.root(window).map_err(failed)?;
    let described = describe(&root);
    walk((root, described), limits, progress, |parent, most| reader.children(parent, most));
    Ok(())
}

/// Whether UI Automation can be started.
pub fn is_available() -> bool {
    Reader::new(false).is_ok()
}

/// UI Automation with a request for what is read of each element.
struct Reader {
    automation: IUIAutomation,
    controls: IUIAutomationCondition,
    request: IUIAutomationCacheRequest,
}

impl Reader {
    fn new(include_names: bool) -> Result<Self> {
        // SAFETY: starts COM on this thread; a thread on which it was started already says so and is as good.
        unsafe { CoInitializeEx(None, COINIT_MULTITHREADED) }.ok()?;
        // SAFETY: class and interface belong together, here and below.
        let newer = unsafe { CoCreateInstance(&CUIAutomation8, None, CLSCTX_INPROC_SERVER) };
        let automation: IUIAutomation = match newer {
            Ok(automation) => automation,
            // SAFETY: as above.
            Err(_) => unsafe { CoCreateInstance(&CUIAutomation, None, CLSCTX_INPROC_SERVER) }?,
        };
        // SAFETY: methods of live interfaces, with documented constants.
        unsafe {
            let request = automation.CreateCacheRequest()?;
            for asked in PROPERTIES {
                request.AddProperty(asked)?;
            }
            if include_names {
                request.AddProperty(UIA_NamePropertyId)?;
            }
            Ok(Self { controls: automation.ControlViewCondition()?, automation, request })
        }
    }

    fn root(&self, window: WindowHandle) -> Result<IUIAutomationElement> {
        // SAFETY: methods of live interfaces; a handle that is no window gives an error.
        unsafe { self.automation.ElementFromHandle(native(window))?.BuildUpdatedCache(&self.request) }
    }

    /// The children of an element with all that is read of them: one call into the window's process.
    fn children(
        &self,
        parent: &IUIAutomationElement,
        most: usize,
    ) -> std::result::Result<Children<IUIAutomationElement>, Unreadable> {
        // SAFETY: a method of a live interface, with others of the same UI Automation.
        let found =
            match unsafe { parent.FindAllBuildCache(TreeScope_Children, &self.controls, &self.request) } {
                Ok(found) => found,
                // Success without a list, which the binding reports as an error without a code, is how none are told.
                Err(error) if error.code().is_ok() => return Ok(Children { read: Vec::new(), more: false }),
                Err(_) => return Err(Unreadable),
            };
        // SAFETY: a method of a live interface.
        let count = unsafe { found.Length() }.map_err(|_| Unreadable)?;
        let wanted = usize::try_from(count).unwrap_or(0).min(most);
        let read = (0..count).take(wanted).filter_map(|index| {
            // SAFETY: a method of a live interface, with an index below its length.
            let child = unsafe { found.GetElement(index) }.ok()?;
            let described = describe(&child);
            Some((child, described))
        });
        Ok(Children { read: read.collect(), more: usize::try_from(count).is_ok_and(|count| count > wanted) })
    }
}

/// What was fetched of an element; a property that it lacks is empty. This makes no call into another process.
fn describe(element: &IUIAutomationElement) -> Element {
    let text = |id| property::text(element, id).unwrap_or_default();
    let is_password = property::truth(element, UIA_IsPasswordPropertyId).unwrap_or(false);
    Element {
        name: if is_password { String::new() } else { text(UIA_NamePropertyId) },
        control_type: control_type::name(property::number(element, UIA_ControlTypePropertyId)).to_owned(),
        automation_id: text(UIA_AutomationIdPropertyId),
        class_name: text(UIA_ClassNamePropertyId),
        framework_id: text(UIA_FrameworkIdPropertyId),
        is_enabled: property::truth(element, UIA_IsEnabledPropertyId).unwrap_or(false),
        is_offscreen: property::truth(element, UIA_IsOffscreenPropertyId).unwrap_or(false),
        is_password,
        bounds: property::bounds(element, UIA_BoundingRectanglePropertyId),
    }
}
